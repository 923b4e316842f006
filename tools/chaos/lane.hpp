// One thread that makes pools and gives them work, and its state for other threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <pilfer/pilfer.hpp>

#include "dice.hpp"
#include "driver.hpp"

namespace tools {

/// The options of a pool, drawn from a seed.
[[nodiscard]] pilfer::options any_options(dice& random, unsigned most_workers);
[[nodiscard]] std::string as_text(pilfer::options const& o);

class lane {
public:
    lane(drive const& d, unsigned number) : m_drive(d), m_number(number) {}
    lane(lane const&) = delete;
    lane& operator=(lane const&) = delete;

    /// Rounds until `over` is set. The first failure is kept, and sets `over`.
    void run(std::atomic<bool>& over);

    // For others, at any time.
    [[nodiscard]] totals counted() const;
    /// Rises with every work that ended.
    [[nodiscard]] std::uint64_t beats() const noexcept { return m_works.load(std::memory_order_relaxed); }
    /// Its present work, in several lines.
    [[nodiscard]] std::string state() const;
    /// For a handler of fatal signals: writes one line to standard error, allocates nothing.
    void last_words() const noexcept;
    /// After run(): empty if all was right.
    [[nodiscard]] std::string const& failure() const noexcept { return m_failure; }

private:
    void round(std::uint64_t seed, std::atomic<bool> const& over);
    void work_in(pilfer::pool& pool, dice& random, std::atomic<bool> const& over);
    void at_rest(pilfer::counters const& c, pilfer::options const& o);
    void add(pilfer::counters const& now, pilfer::counters const& before);
    void looks_at(pilfer::pool* pool);

    drive const& m_drive;
    unsigned m_number;
    std::atomic<std::uint64_t> m_works{0};
    std::atomic<std::uint64_t> m_tasks{0};
    std::atomic<char const*> m_doing{"nothing yet"};
    std::atomic<std::uint64_t> m_seed{0};
    char m_round[256] = "";     // options of the pool of this round
    mutable std::mutex m_mutex; // guards the members after it
    totals m_totals;
    pilfer::pool* m_pool = nullptr;
    std::string m_failure;               // the thread's own until it has ended
    std::unique_ptr<pilfer::pool> m_old; // lives as long as the lane
    pilfer::counters m_old_seen;
};

} // namespace tools
