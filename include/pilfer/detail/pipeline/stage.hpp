// The types of a pipeline: each stage takes what the stage before it returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/pipeline/plan.hpp>
#include <pilfer/detail/task/worker.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A function of the user and its order.
template <stage_order Order, class F>
class pipeline_stage {
public:
    static constexpr stage_order order = Order;
    /// What is called: a parallel stage is called as a const object.
    using callee = std::conditional_t<Order == stage_order::parallel, const F, F>;

    explicit pipeline_stage(F f) : m_function(std::move(f)) {}
    [[nodiscard]] callee& function() noexcept { return m_function; }

private:
    F m_function;
};

template <stage_order Order, class F>
void check_stage(const pipeline_stage<Order, F>&);
template <class S>
inline constexpr bool is_stage = requires(const S& s) {
    detail::check_stage(s);
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;

/// The argument of a stage, of what the stage before it has made.
template <class Held>
[[nodiscard]] PILFER_ALWAYS_INLINE auto&& argument(Held& held) noexcept {
    if constexpr (is_optional<Held>) {
        return std::move(*held); // of the source only: see source_link
    } else {
        return static_cast<typename Held::type&&>(held.value);
    }
}

/// A value between two stages. Not the value itself: a stage other than the source may return an optional,
/// and the next one gets it as it is.
template <class T>
struct between {
    using type = T;
    T value;
};

/// Stage number At of a pipeline and those after it. Held: what the stage before it has made.
template <std::size_t At, class Held, class... Stages>
struct stage_chain {
    static constexpr std::size_t bytes = 1;
    static constexpr std::size_t align = 1;
};
template <std::size_t At, class Held, class S, class... Rest>
struct stage_chain<At, Held, S, Rest...> {
    static_assert(is_stage<S>, "pilfer::pipeline: a stage is made by pilfer::serial_in_order, "
                               "pilfer::serial_out_of_order or pilfer::parallel_stage");
    using callee = typename S::callee;
    using taken = decltype(detail::argument(std::declval<Held&>()));
    static_assert(
        std::is_invocable_v<callee&, taken>,
        "pilfer::pipeline: a stage cannot be called with what the stage before it returns: it takes "
        "T, T&& or const T&, and a parallel stage is called as a const object");
    using result = std::invoke_result_t<callee&, taken>;
    static constexpr bool is_last = sizeof...(Rest) == 0;
    static_assert(is_last || !std::is_void_v<result>,
                  "pilfer::pipeline: only the last stage may return void");
    static_assert(is_last || !std::is_reference_v<result>,
                  "pilfer::pipeline: a stage returns a value; for an object elsewhere it returns a pointer");
    using value = std::conditional_t<is_last, char, std::remove_cvref_t<result>>;
    using made = between<value>;
    using next = stage_chain<At + 1, made, Rest...>;
    static constexpr std::size_t bytes = std::max(is_last ? 1 : sizeof(made), next::bytes);
    static constexpr std::size_t align = std::max(is_last ? 1 : alignof(made), next::align);

    static bool call(void* function, void* in, void* out) {
        auto* held = std::launder(static_cast<Held*>(in));
        callee& f = static_cast<S*>(function)->function();
        if constexpr (is_last) {
            (void)out;
            (void)std::invoke(f, detail::argument(*held));
        } else {
            ::new (out) made{std::invoke(f, detail::argument(*held))};
        }
        std::destroy_at(held);
        return true;
    }
    static void destroy(void* made_here) noexcept {
        if constexpr (!is_last) {
            std::destroy_at(std::launder(static_cast<made*>(made_here)));
        }
    }
    static void fill(stage_entry* entries, S& s, Rest&... rest) noexcept {
        *entries = {S::order, std::addressof(s), &stage_chain::call,
                    is_last ? nullptr : &stage_chain::destroy};
        if constexpr (!is_last) {
            next::fill(entries + 1, rest...);
        }
    }
};

/// The first stage.
template <class S, class... Rest>
struct source_link {
    static_assert(is_stage<S>, "pilfer::pipeline: the source is made by pilfer::serial_in_order");
    static_assert(S::order != stage_order::parallel, "pilfer::pipeline: the source is a serial stage");
    using callee = typename S::callee;
    static_assert(std::is_invocable_v<callee&>, "pilfer::pipeline: the source takes no argument");
    using made = std::remove_cv_t<std::invoke_result_t<callee&>>;
    static_assert(is_optional<made>,
                  "pilfer::pipeline: the source returns std::optional<T>; an empty one ends the input");
    static_assert(sizeof...(Rest) > 0, "pilfer::pipeline: there is no stage after the source");
    using next = stage_chain<1, made, Rest...>;
    static constexpr std::size_t bytes = std::max(sizeof(made), next::bytes);
    static constexpr std::size_t align = std::max(alignof(made), next::align);

    static bool call(void* function, void*, void* out) {
        auto* first = ::new (out) made(std::invoke(static_cast<S*>(function)->function()));
        if (first->has_value()) {
            return true;
        }
        std::destroy_at(first);
        return false;
    }
    static void destroy(void* made_here) noexcept {
        std::destroy_at(std::launder(static_cast<made*>(made_here)));
    }
    static void fill(stage_entry* entries, S& s, Rest&... rest) noexcept {
        *entries = {S::order, std::addressof(s), &source_link::call, &source_link::destroy};
        next::fill(entries + 1, rest...);
    }
};

template <class Source, class... Stages>
void run_stages(std::size_t tokens, Source& source, Stages&... stages) {
    using first = source_link<Source, Stages...>;
    stage_entry entries[1 + sizeof...(Stages)];
    first::fill(entries, source, stages...);
    const pipeline_plan plan{tokens, entries, 1 + sizeof...(Stages), first::bytes, first::align};
    if (this_worker() != nullptr) {
        detail::run_pipeline(plan);
    } else {
        pool::common().run([&plan] { detail::run_pipeline(plan); });
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
