// Pipelines for C.
#include <pilfer/pilfer_pipeline.h>

#include <cstddef>
#include <new>
#include <vector>

#include <pilfer/detail/pipeline/plan.hpp>

#include "capi/error.hpp"
#include "capi/run_in.hpp"
#include "capi/task.hpp"

namespace {

using pilfer::detail::pipeline_plan;
using pilfer::detail::stage_entry;
using pilfer::detail::stage_order;

static_assert(PILFER_SERIAL_IN_ORDER == static_cast<int>(stage_order::in_order) &&
              PILFER_SERIAL_OUT_OF_ORDER == static_cast<int>(stage_order::as_they_come) &&
              PILFER_PARALLEL == static_cast<int>(stage_order::parallel));

/// The value between two stages.
struct made_item {
    void* item;
    const pilfer_stage* maker;
};

void check(int code) {
    if (code != 0) {
        pilfer::capi::throw_returned(code);
    }
}

bool call_source(void* stage, void*, void* out) {
    const auto* const source = static_cast<const pilfer_stage*>(stage);
    void* item = nullptr;
    check(pilfer::capi::call(source->f, &item, source->arg));
    if (item == nullptr) {
        return false;
    }
    ::new (out) made_item{item, source};
    return true;
}

bool call_stage(void* stage, void* in, void* out) {
    const auto* const s = static_cast<const pilfer_stage*>(stage);
    auto* const held = std::launder(static_cast<made_item*>(in));
    check(pilfer::capi::call(s->f, &held->item, s->arg)); // a stage that fails leaves its item here
    ::new (out) made_item{held->item, s};
    return true;
}

void drop(void* made_here) noexcept {
    const auto* const held = std::launder(static_cast<const made_item*>(made_here));
    if (held->item != nullptr && held->maker->drop != nullptr) {
        pilfer::capi::call(held->maker->drop, held->item, held->maker->arg);
    }
}

[[nodiscard]] bool is_valid(const pilfer_stage& s) noexcept {
    return s.f != nullptr && s.order >= PILFER_SERIAL_IN_ORDER && s.order <= PILFER_PARALLEL;
}

} // namespace

extern "C" int pilfer_pipeline(pilfer_pool* pool, size_t tokens, const pilfer_stage* stages, size_t count) {
    if (stages == nullptr || count < 2 || stages[0].order == PILFER_PARALLEL) {
        return PILFER_EINVAL;
    }
    for (size_t i = 0; i < count; ++i) {
        if (!is_valid(stages[i])) {
            return PILFER_EINVAL;
        }
    }
    return pilfer::capi::guarded([&] {
        // The copy is what the entries refer to, which are not const.
        std::vector<pilfer_stage> copies(stages, stages + count);
        std::vector<stage_entry> entries;
        entries.reserve(count);
        for (pilfer_stage& s : copies) {
            entries.push_back(
                {static_cast<stage_order>(s.order), &s, entries.empty() ? call_source : call_stage, drop});
        }
        const pipeline_plan plan{tokens, entries.data(), count, sizeof(made_item), alignof(made_item)};
        pilfer::capi::run_in(pool, [&plan] { pilfer::detail::run_pipeline(plan); });
    });
}
