// The tasks of a graph with their functions and values.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/graph/graph_core.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A task with the value that it returned.
template <class R>
class value_vertex : public vertex {
public:
    value_vertex() noexcept : vertex(kind::task) {}
    ~value_vertex() override { drop(); }

    /// The value of the last run, outside of runs. Throws usage_error.
    [[nodiscard]] const R& value_of(const graph_core& g) const {
        if (m_run == 0 || m_run != g.run_number()) {
            graph_core::no_value(*this);
        }
        return m_value;
    }
    /// For a task that comes after this one.
    [[nodiscard]] const R& value() const noexcept { return m_value; }

    /// Calls `make`, whose result is the value of this run.
    template <class Make>
    void set(const graph_core& g, Make make) {
        drop();
        ::new (static_cast<void*>(std::addressof(m_value))) R(make());
        m_run = g.run_number();
    }

    /// While it lives, the value of `from` does not change. For graphs in which tasks run more than once.
    class reading {
    public:
        struct source {
            const value_vertex* from;
            const graph_core* graph;
        };
        /// Throws usage_error if there is no value in this run, or if the task runs that makes it.
        explicit reading(const source& s) : m_from(*s.from) {
            PILFER_TEST_ORDER("begins to read a value of a graph", &m_from);
            std::int32_t use = m_from.m_use.load(rlx);
            do {
                if (use < 0) {
                    graph_core::not_ready(m_from, "was started again while its value is in use");
                }
            } while (!m_from.m_use.compare_exchange_weak(use, use + 1, acq, rlx)); // graph.E3
            if (m_from.m_run != s.graph->run_number()) {
                m_from.m_use.fetch_sub(1, rel);
                graph_core::not_ready(m_from, "has no value yet for a task that was chosen");
            }
        }
        reading(const reading&) = delete;
        reading& operator=(const reading&) = delete;
        ~reading() {
            PILFER_TEST_ORDER("has read a value of a graph", &m_from);
            m_from.m_use.fetch_sub(1, rel); // graph.E3
        }

    private:
        const value_vertex& m_from;
    };
    /// While it lives, no other task reads the value.
    class writing {
    public:
        explicit writing(value_vertex& of) : m_of(of) {
            PILFER_TEST_ORDER("begins to write a value of a graph", &m_of);
            std::int32_t unused = 0;
            if (!m_of.m_use.compare_exchange_strong(unused, -1, acq, rlx)) { // graph.E3
                graph_core::not_ready(m_of, "was started again while its value is in use");
            }
        }
        writing(const writing&) = delete;
        writing& operator=(const writing&) = delete;
        ~writing() {
            PILFER_TEST_ORDER("has written a value of a graph", &m_of);
            m_of.m_use.store(0, rel); // graph.E3
        }

    private:
        value_vertex& m_of;
    };

private:
    void drop() noexcept {
        if (std::exchange(m_run, 0) != 0) {
            std::destroy_at(std::addressof(m_value));
        }
    }

    mutable std::atomic<std::int32_t> m_use{0}; // readers, or -1 while it is written; see `reading`
    std::uint32_t m_run = 0;                    // that made the value; 0: there is none
    union {
        R m_value;
    };
};

template <>
class value_vertex<void> : public vertex {
public:
    value_vertex() noexcept : vertex(kind::task) {}
    template <class Make>
    void set(const graph_core&, Make make) {
        make();
    }
    struct writing {
        explicit writing(value_vertex&) noexcept {}
    };
};

/// The inputs of a task that have a value.
template <class... A>
using graph_inputs_t = decltype(std::tuple_cat(
    std::declval<
        std::conditional_t<std::is_void_v<A>, std::tuple<>, std::tuple<const value_vertex<A>*>>>()...));

template <class A>
[[nodiscard]] auto graph_input(const task_ref& t) noexcept {
    if constexpr (std::is_void_v<A>) {
        return std::tuple<>();
    } else {
        return std::tuple<const value_vertex<A>*>(static_cast<const value_vertex<A>*>(t.task));
    }
}
template <class... A, class... Ref>
[[nodiscard]] graph_inputs_t<A...> graph_inputs(const Ref&... inputs) noexcept {
    return std::tuple_cat(graph_input<A>(inputs)...);
}

// `pilfer race` needs the function of a task in a frame of its own.
#if defined(PILFER_RACE)
#define PILFER_CALL_TASK race::of_program
#else
#define PILFER_CALL_TASK std::invoke
#endif

template <class F, class Inputs>
struct graph_call;
template <class F, class... A>
struct graph_call<F, std::tuple<const value_vertex<A>*...>> {
    using inputs = std::tuple<const value_vertex<A>*...>;
    static_assert(
        std::is_invocable_v<F&, const A&...>,
        "pilfer::graph: a task takes the values of its inputs in their order, each as T or const T&; "
        "an input without a value gives none");
    using result = std::invoke_result_t<F&, const A&...>;

    static result plain(F& f, const inputs& in) {
        return std::apply(
            [&f](const auto*... from) -> result { return PILFER_CALL_TASK(f, from->value()...); }, in);
    }
    /// Holds the values meanwhile. If f returns a reference, that is until the copy has been made.
    static std::decay_t<result> guarded([[maybe_unused]] const graph_core& g, F& f,
                                        [[maybe_unused]] const inputs& in) {
        if constexpr (sizeof...(A) == 0) {
            return PILFER_CALL_TASK(f);
        } else {
            return std::apply(
                [&](const auto*... from) -> std::decay_t<result> {
                    [[maybe_unused]] const std::tuple<typename value_vertex<A>::reading...> held(
                        typename value_vertex<A>::reading::source{from, &g}...);
                    return PILFER_CALL_TASK(f, from->value()...);
                },
                in);
        }
    }
};

/// The type of the value of a task.
template <class F, class... A>
using graph_result_t = std::decay_t<typename graph_call<std::decay_t<F>, graph_inputs_t<A...>>::result>;

template <class F, class R, class Inputs>
class task_vertex final : public value_vertex<R> {
public:
    template <class G>
    task_vertex(G&& f, const Inputs& in) : m_inputs(in), m_function(std::forward<G>(f)) {}
    std::int64_t run(graph_core& g) override {
        using call = graph_call<F, Inputs>;
        if (g.has_choices()) [[unlikely]] {
            const typename value_vertex<R>::writing alone(*this);
            this->set(g, [&]() -> decltype(auto) { return call::guarded(g, m_function, m_inputs); });
        } else {
            this->set(g, [&]() -> decltype(auto) { return call::plain(m_function, m_inputs); });
        }
        return 0;
    }

private:
    [[no_unique_address]] Inputs m_inputs;
    [[no_unique_address]] F m_function;
};

template <class F, class Inputs>
class condition_vertex final : public vertex {
public:
    template <class G>
    condition_vertex(G&& f, const Inputs& in)
        : vertex(kind::condition), m_inputs(in), m_function(std::forward<G>(f)) {}
    std::int64_t run(graph_core& g) override {
        return static_cast<std::int64_t>(graph_call<F, Inputs>::guarded(g, m_function, m_inputs));
    }

private:
    [[no_unique_address]] Inputs m_inputs;
    [[no_unique_address]] F m_function;
};

#undef PILFER_CALL_TASK

} // namespace detail
} // namespace v0
} // namespace pilfer
