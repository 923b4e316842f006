// Loops that follow each other, for C.
#include <pilfer/parallel/loop_team.hpp>

#include <cstddef>
#include <cstdint>

#include <pilfer/pilfer_algorithm.h>

#include "capi/error.hpp"
#include "capi/task.hpp"

struct pilfer_loop_team {
    pilfer::detail::loop_team_core core;
};

namespace {

/// Loops over a range of C.
struct loops {
    std::size_t first;
    std::uint64_t size;
    std::uint64_t slices;
    void (*body)(std::uint64_t, std::size_t, std::size_t, void*);
    void* argument;

    [[nodiscard]] std::size_t begin_of(std::uint64_t slice) const noexcept {
        return first + static_cast<std::size_t>(pilfer::detail::slice_begin(size, slices, slice));
    }
    void run(std::uint64_t phase, std::uint64_t slice) const noexcept {
        const std::size_t begin = begin_of(slice);
        const std::size_t end = begin_of(slice + 1);
        if (begin != end) {
            pilfer::capi::call(body, phase, begin, end, argument);
        }
    }
};

} // namespace

extern "C" {

int pilfer_loop_team_new(pilfer_loop_team** out, unsigned members, unsigned slices) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return pilfer::capi::guarded([&] {
        const unsigned each = slices != 0 ? slices : pilfer::loop_team_options().slices;
        *out = new pilfer_loop_team{{members, each}};
    });
}

unsigned pilfer_loop_team_members(const pilfer_loop_team* team) {
    return team != nullptr ? team->core.members() : 0;
}

int pilfer_loop_team_run(pilfer_loop_team* team, uint64_t count, size_t first, size_t last,
                         void (*body)(uint64_t, size_t, size_t, void*), void* arg) {
    if (team == nullptr || body == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] {
        const std::uint64_t size = first < last ? last - first : 0;
        loops all{first, size, team->core.slices(), body, arg};
        const auto run = [](void* job, std::uint64_t phase, std::uint64_t slice) {
            static_cast<const loops*>(job)->run(phase, slice);
        };
        team->core.run(run, &all, size != 0 ? count : 0);
    });
}

int pilfer_loop_team_free(pilfer_loop_team* team) {
    return pilfer::capi::guarded([team] {
        if (team != nullptr) {
            team->core.check_caller();
            delete team;
        }
    });
}

} // extern "C"
