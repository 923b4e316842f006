// The one place that knows all parts of a pool.
#pragma once

#include <memory>
#include <mutex>

#include "cancel/cancellation.hpp"
#include "governor/governor.hpp"
#include "guest/blocking.hpp"
#include "guest/guest_slots.hpp"
#include "io/readiness.hpp"
#include "observe/overdue.hpp"
#include "observe/stall.hpp"
#include "platform/signal_thread.hpp"
#include "pool/pool_core.hpp"
#include "timer/alarm_watch.hpp"
#include "trace/file.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class whole_pool final : public pool_core {
public:
    /// See make_pool().
    whole_pool(const options& checked, const paths& files, const options& asked, bool never_ends);
    ~whole_pool() override;

    void shutdown(shutdown_mode mode) override;
    void abandon() noexcept override;
    void write_files() noexcept override;

    /// From now on options.debug.dump_signal makes this pool write its dump. Throws std::system_error.
    void answer_dump_signal();

private:
    void make_governor(const char* advice_file, unsigned workers_asked);
    void start_governor() noexcept;
    void stop_threads() noexcept;
    void end_once();

    // What is declared first ends last. The order is also that of the services.
    guest_slots m_guests;
    cancelled_team m_cancels;
    blocking_threads m_helpers;
    alarm_watch m_alarms;
    descriptor_watch m_io;
    stall_watch m_stall;
    blocked_watch m_blocked;
    overdue_watches m_overdue;
    std::unique_ptr<os::signal_thread> m_dump_thread; // ends before the pool does
    std::unique_ptr<pool_governor> m_governor;        // its thread ends before the workers do
    std::unique_ptr<trace::file> m_trace_file;
    std::mutex m_shutdown_mutex;
    bool m_joined = false; // under m_shutdown_mutex
};

} // namespace detail
} // namespace v0
} // namespace pilfer
