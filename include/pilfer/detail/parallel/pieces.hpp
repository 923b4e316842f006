// Loops over pieces of an index range, shared by the algorithms.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/scope/range.hpp>
#include <pilfer/parallel/grain.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Runs f(common_report) on a worker: this one, or one of the common pool.
template <class F>
std::invoke_result_t<F&, common_report> in_loop(F f) {
    auto whole = [&] { return detail::reporting(f); };
    return detail::this_worker() != nullptr ? whole() : pool::common().run(whole);
}

/// The result of f for an element, as a T. Without this an operation could round an element of another
/// type in one place and not in another.
template <class T, class Value>
[[nodiscard]] PILFER_ALWAYS_INLINE decltype(auto) converted(Value&& value) {
    if constexpr (std::is_same_v<std::remove_cvref_t<Value>, T>) {
        return std::forward<Value>(value); // the caller's
    } else {
        return T(std::forward<Value>(value));
    }
}

/// combine(a, b) as a T. A sum of narrow numbers is an int, which no warning needs to mention.
template <class T, class Combine, class A, class B>
[[nodiscard]] PILFER_ALWAYS_INLINE T combined(Combine& combine, A&& a, B&& b) {
    using result = std::invoke_result_t<Combine&, A, B>;
    if constexpr (std::is_arithmetic_v<T> && std::is_arithmetic_v<result>) {
        return static_cast<T>(std::invoke(combine, std::forward<A>(a), std::forward<B>(b)));
    } else {
        return std::invoke(combine, std::forward<A>(a), std::forward<B>(b));
    }
}

/// The blocks of `size` elements that [0, n) is cut into; the last one may be shorter.
class blocks_of {
public:
    blocks_of(std::uint64_t n, std::uint64_t size) noexcept : m_n(n), m_size(size == 0 ? 1 : size) {}
    [[nodiscard]] std::uint64_t count() const noexcept { return m_n / m_size + (m_n % m_size != 0 ? 1 : 0); }
    /// The first element of a block; the number of elements for the block after the last one.
    [[nodiscard]] std::uint64_t begin(std::uint64_t block) const noexcept {
        return block >= this->count() ? m_n : block * m_size;
    }

private:
    std::uint64_t m_n;
    std::uint64_t m_size;
};

/// Calls f(begin, end) for one piece. A function of its own, so that the registers are the inner loop's.
template <class F>
PILFER_NOINLINE void call_piece(F& f, std::uint64_t first, std::uint64_t stop) {
#if defined(PILFER_RACE)
    race::of_program(f, first, stop);
#else
    f(first, stop);
#endif
}

/// Calls f(begin, end) for pieces that cover [first, last), as run_range does for single elements.
template <class F>
void run_pieces(std::uint64_t first, std::uint64_t last, F& f, common_report report, piece_size piece) {
#if defined(PILFER_RACE)
    (void)piece;
    const race::library here(2);
    race::each(first, last,
               [&](std::uint64_t i) { detail::as_part(report, [&] { detail::call_piece(f, i, i + 1); }); });
#else
    piece.start();
    while (first != last) {
        const std::uint64_t left = last - first;
        if (left > 1 && (piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
            const std::uint64_t middle = last - detail::given_away(left);
            auto lower = [&] { detail::run_pieces(first, middle, f, report, piece.of_lower()); };
            auto upper = [&] { detail::run_pieces(middle, last, f, report, piece.of_upper()); };
            (void)detail::join_two(this_worker(), lower, upper, report);
            return;
        }
        const std::uint64_t stop = first + piece.next(left);
        detail::as_part(report, [&] { detail::call_piece(f, first, stop); });
        first = stop;
        piece.done();
    }
#endif
}

/// Calls f(begin, end) for pieces that cover [0, n), in parallel. No piece begins inside a block of the
/// grain.
template <class F>
void over_pieces(std::uint64_t n, grain g, F f) {
    if (n == 0) {
        return;
    }
    const blocks_of blocks(n, g.size);
    detail::in_loop([&](common_report report) {
        auto piece = [&](std::uint64_t first, std::uint64_t stop) {
            f(blocks.begin(first), blocks.begin(stop));
        };
        detail::run_pieces(0, blocks.count(), piece, report, {});
    });
}

/// Whether the lower half of a split has ended before the upper one begins: if no worker took it, or late.
/// The upper half then goes on where the lower one has stopped, as if there had been no split.
class lower_half {
public:
    void ends() noexcept {
        if constexpr (!race::splits_all) {                  // then a lower half never counts as ended
            m_ended.store(true, std::memory_order_release); // with has_ended()
        }
    }
    [[nodiscard]] bool has_ended() const noexcept {
#if defined(PILFER_TEST)
        if (loops_are_fixed()) {
            return false;
        }
#endif
        return m_ended.load(std::memory_order_acquire);
    }

private:
    std::atomic<bool> m_ended{false};
};

/// Goes over [first, last) in order with a state: fold.step(state, begin, end) adds a piece. A part that
/// begins before the part in front of it has ended has a state of its own, fold.start(begin), and
/// fold.merge(state, middle, other) adds it to the other one.
template <class State, class Fold>
void run_fold(std::uint64_t first, std::uint64_t last, State& state, Fold& fold, common_report report,
              piece_size piece) {
    piece.start();
    while (first != last) {
        const std::uint64_t left = last - first;
        if (left > 1 &&
            (race::splits_all || piece.splits_unasked() || detail::split_wanted(this_worker(), piece))) {
            const std::uint64_t middle = last - detail::given_away(left);
            lower_half below;
            std::optional<State> other;
            auto lower = [&] {
                detail::run_fold(first, middle, state, fold, report, piece.of_lower());
                below.ends();
            };
            auto upper = [&] {
                if (below.has_ended()) {
                    detail::run_fold(middle, last, state, fold, report, piece.of_upper());
                    return;
                }
                detail::as_part(report, [&] { other.emplace(fold.start(middle)); });
                detail::run_fold(middle, last, *other, fold, report, piece.of_upper());
            };
            (void)detail::join_two(this_worker(), lower, upper, report);
            if (other.has_value()) {
                detail::as_part(report, [&] { fold.merge(state, middle, std::move(*other)); });
            }
            return;
        }
        const std::uint64_t stop = first + piece.next(left);
        detail::as_part(report, [&] {
            auto step = [&](std::uint64_t from, std::uint64_t to) { fold.step(state, from, to); };
            detail::call_piece(step, first, stop);
        });
        first = stop;
        piece.done();
    }
}

/// The three functions of a fold over elements, called by run_fold with numbers of blocks.
template <class Start, class Step, class Merge>
struct fold_of {
    blocks_of blocks;
    Start begins;
    Step steps;
    Merge merges;

    [[nodiscard]] auto start(std::uint64_t block) { return begins(blocks.begin(block)); }
    template <class State>
    void step(State& state, std::uint64_t first, std::uint64_t stop) {
        steps(state, blocks.begin(first), blocks.begin(stop));
    }
    template <class State>
    void merge(State& state, std::uint64_t middle, State&& other) {
        merges(state, blocks.begin(middle), std::move(other));
    }
};

/// Folds [0, n) in order and returns the state. begins(index) makes the state of a part that begins there.
template <class Start, class Step, class Merge>
[[nodiscard]] auto over_fold(std::uint64_t n, grain g, Start begins, Step steps, Merge merges) {
    fold_of<Start, Step, Merge> fold{blocks_of(n, g.size), begins, steps, merges};
    auto state = fold.begins(0);
    if (n != 0) {
        detail::in_loop(
            [&](common_report report) { detail::run_fold(0, fold.blocks.count(), state, fold, report, {}); });
    }
    return state;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
