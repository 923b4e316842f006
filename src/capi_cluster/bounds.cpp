// Bounds of C: values of up to 8 bytes, whose order is a function.
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>

#include <pilfer/detail/cluster/bound_word.hpp>

#include "capi/task.hpp"
#include "capi_cluster/jobs.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

using order = int (*)(const void* a, const void* b);

/// The bytes of a value, and zeros after them.
[[nodiscard]] std::uint64_t bits_of(const void* value, std::size_t size) noexcept {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value, size);
    return bits;
}

/// True if `a` is better, of two values at the beginning of their words.
[[nodiscard]] bool compare(order is_better, std::uint64_t a, std::uint64_t b) noexcept {
    return capi::call(is_better, static_cast<const void*>(&a), static_cast<const void*>(&b)) != 0;
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

/// A bound of C. The bytes of its values after `size` are 0.
struct pilfer_cluster_bound final : pilfer::detail::bound_word {
    pilfer_cluster_bound(const char* its_type, std::uint64_t worst_value, std::size_t its_size,
                         pilfer::capi::order f)
        : bound_word(its_type, worst_value), size(its_size), function(f) {}
    [[nodiscard]] bool is_better(std::uint64_t a, std::uint64_t b) const noexcept override {
        return pilfer::capi::compare(function, a, b);
    }

    std::size_t size;
    pilfer::capi::order function;
};

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

/// A bound, and the type that ranks compare.
struct named_bound {
    std::string type;
    std::unique_ptr<pilfer_cluster_bound> bound;
};
/// By name. Never destroyed, because the list of bounds refers to them.
[[nodiscard]] auto& bounds_by_name() {
    static auto& bounds = *new std::map<std::string, named_bound, std::less<>>;
    return bounds;
}

[[nodiscard]] pilfer_cluster_bound* make_bound(const char* name, const void* worst, std::size_t size,
                                               order is_better) {
    require(is_name(name), "a bound has a name of 1 to 255 bytes");
    require(worst != nullptr && is_better != nullptr, "a bound without its worst value or its order");
    require(size != 0 && size <= sizeof(std::uint64_t), "a bound is a value of 1 to 8 bytes");
    const std::uint64_t bits = bits_of(worst, size);
    require(!compare(is_better, bits, bits), "the order of a bound calls a value better than itself");
    const auto [at, is_new] = bounds_by_name().try_emplace(name);
    if (!is_new) {
        refuse_name("bounds", name);
    }
    try {
        named_bound& b = at->second;
        b.type = "bound of " + std::to_string(size) + " bytes in C, " + name;
        b.bound = std::make_unique<pilfer_cluster_bound>(b.type.c_str(), bits, size, is_better);
        return b.bound.get();
    } catch (...) {
        bounds_by_name().erase(at);
        throw;
    }
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" int pilfer_cluster_bound_new(pilfer_cluster_bound** out, const char* name, const void* worst,
                                        size_t size, int (*is_better)(const void* a, const void* b)) {
    return cluster_guarded([&] {
        require(out != nullptr, "a bound without its place");
        *out = nullptr;
        *out = make_bound(name, worst, size, is_better);
    });
}

extern "C" int pilfer_cluster_bound_get(const pilfer_cluster_bound* bound, void* value) {
    return cluster_guarded([&] {
        require(bound != nullptr && value != nullptr, "a value without its bound or its place");
        const std::uint64_t bits = bound->bits();
        std::memcpy(value, &bits, bound->size);
    });
}

extern "C" int pilfer_cluster_bound_improve(pilfer_cluster_bound* bound, const void* value) {
    bool is_better = false;
    const int code = cluster_guarded([&] {
        require(bound != nullptr && value != nullptr, "an offer without its bound or its value");
        is_better = bound->offer(bits_of(value, bound->size));
    });
    return code != 0 ? code : is_better ? 1 : 0;
}
