// Shared by the tests of stopped coroutines: waits that only a cancellation ends.
#pragma once

#include <atomic>
#include <chrono>

#include "coroutine/support.hpp"

namespace coroutine_tests {

using namespace std::chrono_literals;

class in_a_pool : public testing::TestWithParam<unsigned> {
    support::watchdog m_watchdog{support::patience};

protected:
    pilfer::pool pool{{.workers = GetParam()}};
};

/// Until it holds; other tasks run meanwhile.
template <class F>
void until(F holds) {
    while (!holds()) {
        pilfer::yield();
    }
}

/// The objects that a test's coroutines wait for. None of them becomes ready by itself.
struct things {
    pilfer::event event;
    pilfer::channel<int> empty{0};
    pilfer::channel<int> full{1};
    pilfer::promise<int> promise;
    pilfer::future<int> result = promise.get_future();
    things() { EXPECT_TRUE(full.try_send(0)); }
};
enum kind { a_time, a_result, a_copied_result, a_value, room, an_event, kinds };

inline task<int> waits_for(things& all, int what) {
    switch (what) {
    case a_time:
        co_await pilfer::resume_after(1h);
        break;
    case a_result:
        co_return co_await all.result;
    case a_copied_result:
        co_return co_await pilfer::future<int>(all.result);
    case a_value:
        co_return (co_await pilfer::receive(all.empty)).value_or(-1);
    case room:
        co_return co_await pilfer::send(all.full, 1) ? 1 : 0;
    default:
        co_await all.event;
        break;
    }
    co_return 0;
}
/// waits_for() so many levels down. Each level has an object with a destructor.
inline task<int> waits_below(things& all, int what, int levels, std::atomic<int>& alive) {
    const witness here(alive);
    if (levels == 0) {
        co_return co_await waits_for(all, what);
    }
    const int got = co_await waits_below(all, what, levels - 1, alive);
    co_return got + 1;
}

} // namespace coroutine_tests
