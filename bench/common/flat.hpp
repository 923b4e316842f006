// Many equal items that belong to one task at first: shared by flat_tasks and the loops.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/bench.hpp"

namespace bench::flat {

struct setting {
    std::size_t items;
    std::uint64_t answer; ///< the sum of all items' values, modulo 2^64, as the serial program has it
};

inline constexpr by_size<setting> config{.tiny = {1'000, 0xed1f3b3ba0dc67e0},
                                         .quick = {100'000, 0xe06a7f3cb3080d28},
                                         .medium = {1'000'000, 0xf221cf382ee239b8},
                                         .full = {1'000'000, 0xf221cf382ee239b8},
                                         .large = {4'000'000, 0xe59a53c6117132b2}};

/// Multiplications of one item. Each needs the result of the one before it: five cycles with its shift and
/// its exclusive or. 750 took 1.0 us of processor time on the machine of the results. The length is a count
/// and not a time, so every runtime does equal work on every machine.
inline constexpr unsigned rounds = 750;

/// The value that item `i` computes. No compiler finds a shorter way to it.
[[nodiscard]] inline std::uint64_t value_of(std::uint64_t i) {
    std::uint64_t z = i + 1;
    for (unsigned r = 0; r < rounds; ++r)
        z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return z;
}

/// The items of each thread. The sum shows that the right items ran; the counts show how many each thread
/// ran.
class tally {
public:
    void clear() {
        for (slot& s : m_slots)
            s = {};
    }
    void run(std::uint64_t i) {
        slot& mine = m_slots[number()];
        mine.sum += value_of(i);
        ++mine.items;
    }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t all = 0;
        for (const slot& s : m_slots)
            all += s.sum;
        return all;
    }
    /// Items of the worker with the fewest and of the one with the most, as parts of a fair share.
    [[nodiscard]] std::pair<double, double> shares(std::size_t items, unsigned workers) const {
        std::array<std::uint64_t, most_threads> by_thread{};
        std::transform(m_slots.begin(), m_slots.end(), by_thread.begin(),
                       [](const slot& s) { return s.items; });
        std::sort(by_thread.rbegin(), by_thread.rend());
        const double fair = static_cast<double>(items) / workers;
        return {static_cast<double>(by_thread[std::min<std::size_t>(workers, most_threads) - 1]) / fair,
                static_cast<double>(by_thread[0]) / fair};
    }

private:
    static constexpr std::size_t most_threads = 1024; // of the process, one after another
    struct alignas(128) slot {
        std::uint64_t sum = 0;
        std::uint64_t items = 0;
    };
    static std::size_t number() {
        static std::atomic<std::size_t> threads{0};
        thread_local const std::size_t mine = threads.fetch_add(1) % most_threads;
        return mine;
    }

    std::array<slot, most_threads> m_slots{};
};

struct one_loop {
    template <class R, class Body>
    static void all(std::size_t items, const Body& body) {
        R::loop(items, body);
    }
};

/// A kernel of this kind; Start::all<R>(items, body) hands the items to the runtime.
template <class R, class Start>
class items_kernel : public kernel_base {
public:
    explicit items_kernel(size s) : items_kernel(config[s]) {}
    explicit items_kernel(const setting& s) : m_setting(s) {}
    void prepare() { m_tally.clear(); }
    std::uint64_t run() {
        Start::template all<R>(m_setting.items, [this](std::size_t i) { m_tally.run(i); });
        return 0;
    }
    std::uint64_t complete(std::uint64_t answer) const { return answer + m_tally.sum(); }
    bool check(std::uint64_t answer) const { return answer == m_setting.answer; }
    std::pair<double, double> shares(unsigned workers) const {
        return m_tally.shares(m_setting.items, workers);
    }

private:
    setting m_setting;
    tally m_tally;
};

} // namespace bench::flat
