// Trees of branches: sums over children, and reductions over ranges of integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include <pilfer/detail/cluster/branch.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The description of several children, for one shipment.
template <class Task>
struct sum_piece {
    std::vector<Task> tasks;
    cluster_result<Task> operator()() const;
};
template <class Task>
void serialize(cluster::archive& a, sum_piece<Task>& piece) {
    a(piece.tasks);
}
template <class Task>
constexpr const char* pilfer_cluster_name(const sum_piece<Task>*) noexcept {
    return "children of a sum";
}

/// The sum of the results of f(*first), f(first[1]) and so on, n of them, as a tree of the same shape
/// everywhere.
template <class It, class F>
auto sum_tree(It first, std::size_t n, F& f) -> cluster_result<std::decay_t<decltype(f(*first))>> {
    using task = std::decay_t<decltype(f(*first))>;
    using value = cluster_result<task>;
    if (n == 1) {
        return detail::call_task<task>(f(*first));
    }
    const std::size_t half = n - n / 2;
    const It middle = first + static_cast<std::iter_difference_t<It>>(half);
    const auto left = [&]() -> value { return detail::sum_tree(first, half, f); };
    const auto right = [&]() -> value { return detail::sum_tree(middle, n - half, f); };
    const auto write = [&](cluster::archive& out) {
        out.put(static_cast<std::uint64_t>(n - half));
        for (std::size_t i = 0; i < n - half; ++i) {
            out.put<task>(f(middle[static_cast<std::iter_difference_t<It>>(i)]));
        }
    };
    auto [a, b] = detail::fork_branches(detail::entry_of<sum_piece<task>>(), left, right, write);
    return std::move(a) + std::move(b);
}

template <class Task>
cluster_result<Task> sum_piece<Task>::operator()() const {
    if (tasks.empty()) {
        PILFER_THROW(cluster::archive_error("a part of a sum without a child"));
    }
    const auto same = [](const Task& t) -> const Task& { return t; };
    return detail::sum_tree(tasks.begin(), tasks.size(), same);
}

/// Throws archive_error for a part that no cut of [0, n) gives. Another rank has sent it.
inline void check_part(std::uint64_t n, std::uint64_t first, std::uint64_t count, std::uint64_t most) {
    if (count == 0 || most == 0 || first % most != 0 || first > n || count > n - first) {
        PILFER_THROW(cluster::archive_error("a part that its range does not have"));
    }
}

/// The function and the operation of a reduction that all ranks run at once. Each rank has its own copy, so
/// that only places in the range travel.
template <class F, class Op, class T>
struct map_piece {
    std::uint64_t first; // counted from the start of the range
    std::uint64_t count;
    std::uint64_t most; // elements of a piece that is not cut further

    struct functions {
        const F& f; // of the place in the range
        const Op& op;
        std::uint64_t n; // elements of the range
    };
    /// Of the reduction in progress on this rank.
    static inline constinit std::atomic<const functions*> current{nullptr};

    T operator()() const {
        const functions* call = current.load(acq); // map_reduce() on this rank
        if (call == nullptr) {
            PILFER_THROW(usage_error(
                "pilfer::cluster: this rank is not inside the map_reduce() that another rank runs"));
        }
        detail::check_part(call->n, first, count, most);
        return run(*call);
    }

private:
    [[nodiscard]] T run(const functions& call) const {
        if (count > most) {
            // Powers of two times the smallest piece: the shape depends on the number of elements alone.
            std::uint64_t half = most;
            while (2 * half < count) {
                half *= 2;
            }
            const map_piece left{first, half, most};
            const map_piece right{first + half, count - half, most};
            const auto write = [&](cluster::archive& out) { out.put(right); };
            auto [a, b] = detail::fork_branches(
                detail::entry_of<map_piece>(), [&]() -> T { return left.run(call); },
                [&]() -> T { return right.run(call); }, write);
            return call.op(std::move(a), std::move(b));
        }
        T sum = call.f(first);
        for (std::uint64_t i = 1; i < count; ++i) {
            sum = call.op(std::move(sum), call.f(first + i));
        }
        return sum;
    }
};
template <class F, class Op, class T>
constexpr const char* pilfer_cluster_name(const map_piece<F, Op, T>*) noexcept {
    return "part of a map_reduce";
}

} // namespace detail
} // namespace v0
} // namespace pilfer
