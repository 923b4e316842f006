// States behind when_all and when_any.
#pragma once

#include <atomic>
#include <cstddef>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include <pilfer/future.hpp>

namespace pilfer {
inline namespace v0 {
template <class Sequence>
struct when_any_result;

namespace detail {

template <class T>
inline constexpr bool is_future = false;
template <class T>
inline constexpr bool is_future<future<T>> = true;

template <class It>
concept future_iterator = std::input_iterator<It> && is_future<std::iter_value_t<It>>;

/// Calls f(number, core) for each future.
template <class T, class F>
void for_each_core(const std::vector<future<T>>& futures, F f) {
    for (std::size_t i = 0; i < futures.size(); ++i) {
        f(i, futures[i].core());
    }
}
template <class... Ts, class F>
void for_each_core(const std::tuple<future<Ts>...>& futures, F f) {
    std::apply(
        [&](const future<Ts>&... each) { // without futures a capture by name would be unused
            [[maybe_unused]] std::size_t i = 0;
            (f(i++, each.core()), ...);
        },
        futures);
}

/// Counts the futures. Throws for one that refers to nothing, before anything has happened.
template <class Sequence>
[[nodiscard]] std::size_t count_valid(const Sequence& futures) {
    std::size_t n = 0;
    for_each_core(futures, [&n](std::size_t, future_core&) { ++n; });
    return n;
}

/// Ends with the last of its inputs.
template <class Sequence>
class all_state final : public future_state<Sequence> {
    struct place : future_listener {
        place() noexcept
            : future_listener(
                  [](future_listener& self) noexcept { return static_cast<place&>(self).all->arrive(); }) {}
        all_state* all = nullptr;
    };

public:
    all_state(Sequence futures, std::size_t n)
        : future_state<Sequence>(future_source::combination, 2), m_left(n + 1), m_places(new place[n]),
          m_inputs(std::move(futures)) {}
    void attach() noexcept {
        // The inputs are not moved out before this loop calls arrive(), too.
        for_each_core(m_inputs, [this](std::size_t i, future_core& input) noexcept {
            m_places[i].all = this;
            input.listen(m_places[i]);
        });
        if (arrive() != nullptr) {
            this->end();
            this->release();
        }
    }

private:
    [[nodiscard]] future_core* arrive() noexcept {
        // Each fetch_sub releases, the last one acquires: the result of every input is seen after this one's.
        if (m_left.fetch_sub(1, acq_rel) != 1) {
            return nullptr;
        }
        (void)this->begin(); // no other thread can
        auto make = [this] { return std::move(m_inputs); };
        this->m_outcome.fill(make);
        return this;
    }
    void execute() noexcept override {}
    void break_promise() noexcept override {}

    std::atomic<std::size_t> m_left;
    std::unique_ptr<place[]> m_places;
    Sequence m_inputs;
};

/// Ends with the first of its inputs. Later inputs still refer to it, so it lives as long as they do.
template <class Sequence>
class any_state final : public future_state<when_any_result<Sequence>> {
    struct place : future_listener {
        place() noexcept
            : future_listener([](future_listener& self) noexcept {
                  return static_cast<place&>(self).any->arrive(static_cast<place&>(self));
              }) {}
        any_state* any = nullptr;
    };

public:
    any_state(const Sequence& futures, std::size_t n)
        : future_state<when_any_result<Sequence>>(future_source::combination, 1), m_places(new place[n]),
          m_inputs(futures) {}
    /// `futures`: the caller's own. The copies in this object may be moved out at any time.
    void attach(const Sequence& futures, std::size_t n) noexcept {
        for_each_core(futures, [this](std::size_t i, future_core& input) noexcept {
            if (!m_over.load(rlx)) {
                m_places[i].any = this;
                this->retain();
                input.listen(m_places[i]);
            }
        });
        if (n == 0) {
            (void)this->begin();
            fill(static_cast<std::size_t>(-1));
            this->end();
        }
    }

private:
    [[nodiscard]] future_core* arrive(place& from) noexcept {
        if (!this->begin()) {
            this->release();
            return nullptr;
        }
        m_over.store(true, rlx); // only spares the rest of attach() its work
        fill(static_cast<std::size_t>(&from - m_places.get()));
        return this;
    }
    void fill(std::size_t index) noexcept {
        auto make = [this, index] { return when_any_result<Sequence>{index, std::move(m_inputs)}; };
        this->m_outcome.fill(make);
    }
    void execute() noexcept override {}
    void break_promise() noexcept override {}

    std::atomic<bool> m_over{false};
    std::unique_ptr<place[]> m_places;
    Sequence m_inputs;
};

template <class Sequence>
[[nodiscard]] future<Sequence> all_of(Sequence futures) {
    const std::size_t n = count_valid(futures);
    auto* state = new all_state<Sequence>(std::move(futures), n);
    future<Sequence> handle(state);
    state->attach();
    return handle;
}

template <class Sequence>
[[nodiscard]] future<when_any_result<Sequence>> any_of(const Sequence& futures) {
    const std::size_t n = count_valid(futures);
    auto* state = new any_state<Sequence>(futures, n);
    future<when_any_result<Sequence>> handle(state);
    state->attach(futures, n);
    return handle;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
