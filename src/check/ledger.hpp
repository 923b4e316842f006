// The choices and steps of a child process, in memory that both processes have: nothing is lost in a crash.
#pragma once

#if defined(PILFER_TEST)

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "search/chooser.hpp"
#include "search/exploration.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class ledger {
public:
    /// The entries since clear().
    struct entries {
        std::vector<choice> taken{};
        std::vector<trace_step> steps{};
        std::optional<run_report> report{};
    };

    /// Throws std::bad_alloc.
    explicit ledger(std::size_t bytes);
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    void clear() noexcept {
        m_head->length.store(0, std::memory_order_relaxed);
        m_head->is_over.store(false, std::memory_order_relaxed);
    }
    /// The calling process is the child that writes. A child of it by fork() writes nothing.
    void is_written_here() noexcept;
    // By the child. From an entry on that finds no room, nothing is written.
    void chose(const choice& c) noexcept;
    void stepped(const trace_step& s) noexcept;
    void ended(const run_report& r) noexcept;
    /// By the parent: ended() was called.
    [[nodiscard]] bool is_over() const noexcept { return m_head->is_over.load(std::memory_order_acquire); }
    /// By the parent, after the child's end.
    [[nodiscard]] entries read() const;

private:
    enum class kind : char { choice, step, report };
    class writer;
    class reader;

    struct head {
        std::atomic<std::uint64_t> length{0};
        std::atomic<bool> is_over{false};
    };
    head* m_head; // at the beginning of the memory
    char* m_at;
    std::uint64_t m_most;
    std::uint64_t m_writer = 0; // a process
    bool m_is_full = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
