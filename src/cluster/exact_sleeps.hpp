// Short sleeps of a thread that are as short as it says.
#pragma once

#include <sys/prctl.h>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// While it lives, timed waits of the calling thread end about a microsecond late. Linux otherwise adds up to
/// 50 us, so that a timer may wake several threads.
class exact_sleeps {
public:
    exact_sleeps() noexcept : m_slack(::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)) { set(slack_ns); }
    exact_sleeps(const exact_sleeps&) = delete;
    exact_sleeps& operator=(const exact_sleeps&) = delete;
    ~exact_sleeps() { set(m_slack); }

    static constexpr int slack_ns = 1000;

private:
    /// Nothing for a real-time thread, which has no slack.
    void set(int ns) const noexcept {
        if (m_slack > 0) {
            (void)::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(ns), 0, 0, 0);
        }
    }
    const int m_slack;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
