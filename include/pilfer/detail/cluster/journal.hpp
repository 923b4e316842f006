// A map_reduce whose parts are kept in a file, so that a killed job can go on.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/raw_lock.hpp>
#include <pilfer/detail/cluster/pieces.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The value of a part that has ended.
struct saved_part {
    std::uint64_t part = 0;
    std::vector<std::byte> value{};

    bool operator==(const saved_part&) const = default;
};
inline void serialize(cluster::archive& a, saved_part& s) { a(s.part, s.value); }

/// The call that a journal belongs to.
struct journal_facts {
    std::string type;            ///< of function, operation and value
    std::uint64_t first = 0;     ///< of the range
    std::uint64_t count = 0;     ///< elements
    std::uint64_t part_size = 1; ///< elements

    [[nodiscard]] std::uint64_t parts() const noexcept { return (count + part_size - 1) / part_size; }
    bool operator==(const journal_facts&) const = default;
};
inline void serialize(cluster::archive& a, journal_facts& f) { a(f.type, f.first, f.count, f.part_size); }

/// Of one map_reduce, on each rank. Rank 0 has the file; other ranks send it what they have.
class journal {
public:
    /// Throws archive_error unless the bytes are a value.
    using check_function = void (*)(cluster::archive& value);

    journal(bool has_file, std::uint64_t parts);
    journal(const journal&) = delete;
    journal& operator=(const journal&) = delete;
    ~journal();

    /// Rank 0: opens the file, or makes it, and locks it. Returns the parts that are in it, in their order.
    /// All bytes after the last whole record are cut off. A job that was killed may have the lock for a
    /// moment longer, so this waits for it. Throws std::runtime_error with the path and the reason.
    [[nodiscard]] std::vector<saved_part> open(const std::string& path, const journal_facts& facts,
                                               check_function check,
                                               std::chrono::milliseconds patience = std::chrono::seconds(5));
    /// A part has ended, on this rank or on another one. On rank 0 it is in the file when this returns. If
    /// the file cannot be written, says so once, and the run goes on without it.
    void keep(saved_part&& p);
    /// Other ranks: the parts since the last call, for rank 0.
    [[nodiscard]] std::vector<saved_part> take_unsent();
    [[nodiscard]] bool has_file() const noexcept { return m_has_file; }
    [[nodiscard]] std::uint64_t parts() const noexcept { return m_parts; }

    /// Finds what is torn or has been changed by accident.
    [[nodiscard]] static std::uint64_t checksum(std::span<const std::byte> bytes) noexcept;

    /// Of the call in progress on this rank.
    static inline constinit std::atomic<journal*> current{nullptr};

private:
    void lock(std::chrono::milliseconds patience) const;
    [[nodiscard]] std::vector<std::byte> read() const;
    void write(std::span<const std::byte> bytes) const;

    const bool m_has_file;
    const std::uint64_t m_parts;
    raw_lock<std_atom, futex_park> m_lock; // of all below
    std::string m_path;
    int m_file = -1;
    bool m_failed = false;
    std::vector<bool> m_seen; // rank 0: a task of an elastic run may run twice
    std::vector<saved_part> m_unsent;
};

/// A map_piece that knows which of its parts have ended in an earlier job.
template <class F, class Op, class T>
struct journaled_piece {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t most;
    std::vector<saved_part> saved; // of this range

    using functions = typename map_piece<F, Op, T>::functions;
    static inline constinit std::atomic<const functions*> current{nullptr};

    T operator()() const {
        const functions* call = current.load(acq); // map_reduce_journaled() on this rank
        journal* j = journal::current.load(acq);
        if (call == nullptr || j == nullptr) {
            PILFER_THROW(usage_error("pilfer::cluster: this rank is not inside the map_reduce_journaled() "
                                     "that another rank runs"));
        }
        detail::check_part(call->n, first, count, most);
        if ((first + count - 1) / most >= j->parts()) {
            PILFER_THROW(cluster::archive_error("a part that its journal does not have"));
        }
        return run(*call, *j, first, count, most, saved);
    }

    [[nodiscard]] static T run(const functions& call, journal& j, std::uint64_t first, std::uint64_t count,
                               std::uint64_t most, std::span<const saved_part> saved) {
        if (count > most) { // the shape of map_piece
            std::uint64_t half = most;
            while (2 * half < count) {
                half *= 2;
            }
            const auto of_right = [&](const saved_part& s) { return s.part >= (first + half) / most; };
            const auto middle =
                static_cast<std::size_t>(std::ranges::find_if(saved, of_right) - saved.begin());
            const auto left = [&]() -> T { return run(call, j, first, half, most, saved.first(middle)); };
            const auto right = [&]() -> T {
                return run(call, j, first + half, count - half, most, saved.subspan(middle));
            };
            if (saved.size() == (count + most - 1) / most) { // nothing is left to run
                T a = left();
                return call.op(std::move(a), right());
            }
            const auto write = [&](cluster::archive& out) {
                const auto rest = saved.subspan(middle);
                out.put(journaled_piece{first + half, count - half, most, {rest.begin(), rest.end()}});
            };
            auto [a, b] = detail::fork_branches(detail::entry_of<journaled_piece>(), left, right, write);
            return call.op(std::move(a), std::move(b));
        }
        if (!saved.empty()) {
            cluster::archive in(saved.front().value);
            return in.take<T>();
        }
        T sum = call.f(first);
        for (std::uint64_t i = 1; i < count; ++i) {
            sum = call.op(std::move(sum), call.f(first + i));
        }
        cluster::archive out;
        out.put(sum);
        j.keep({first / most, std::move(out.bytes())});
        return sum;
    }
};
template <class F, class Op, class T>
void serialize(cluster::archive& a, journaled_piece<F, Op, T>& p) {
    a(p.first, p.count, p.most, p.saved);
}
template <class F, class Op, class T>
constexpr const char* pilfer_cluster_name(const journaled_piece<F, Op, T>*) noexcept {
    return "part of a map_reduce_journaled";
}

} // namespace detail
} // namespace v0
} // namespace pilfer
