// Functions that were given to <pilfer/pilfer.h> and throw.
#include <pilfer/pilfer.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

void nothing(void*) {}
void* no_value(void*) { return nullptr; }

/// No exception passes: the process ends with a message.
struct thrower {
    const char* name;
    int (*call)();
};
void throws(void*) { throw std::runtime_error("x"); }
void* throws_value(void*) { throw std::runtime_error("x"); }
void throws_of_thread(unsigned, void*) { throw std::runtime_error("x"); }
unsigned throws_number(void*) { throw std::runtime_error("x"); }
/// A pool asks for advice only while it works.
void works_on(void*) {
    for (;;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}
void* throws_following(void*, void*) { throw std::runtime_error("x"); }
void throws_piece(std::size_t, std::size_t, void*) { throw std::runtime_error("x"); }
int throws_made(void*, void**) { throw std::runtime_error("x"); }
void throws_inside(void*, void*) { throw std::runtime_error("x"); }
void throws_all(void* const*, void*) { throw std::runtime_error("x"); }
int throws_asked(const void*, void*) { throw std::runtime_error("x"); }
int throws_each_time(void*) { throw std::runtime_error("x"); }
int throws_taken(void*, void*) { throw std::runtime_error("x"); }
int throws_compared(const void*, const void*, void*) { throw std::runtime_error("x"); }
void throws_combined(void*, const void*, void*) { throw std::runtime_error("x"); }
int throws_held(std::size_t, void*) { throw std::runtime_error("x"); }
std::array<std::uint64_t, 100> some_numbers{3, 1, 2};
/// Not over before the process is.
int wait_for_the_end(int code) {
    pilfer_sleep_for(60'000'000'000);
    return code;
}
template <int (*Start)(pilfer_scope*, void (*)(void*), void*)>
int throws_in_scope() {
    pilfer_scope s;
    return pilfer_scope_begin(&s) + Start(&s, throws, nullptr) + pilfer_scope_end(&s);
}

class bad_input_c_throws : public testing::TestWithParam<thrower> {
    watchdog m_watchdog{40};
};

TEST_P(bad_input_c_throws, row) {
    const auto result = in_child([] {
        const c_pool pool(2U);
        pool.run([] { (void)GetParam().call(); });
        return 0;
    });
    EXPECT_TRUE(result.killed_by(SIGABRT)) << result;
    EXPECT_TRUE(result.said("left a function that was given to the C interface")) << result;
}

INSTANTIATE_TEST_SUITE_P(
    table, bad_input_c_throws,
    testing::Values(
        thrower{"run",
                [] {
                    pilfer_pool* p = nullptr;
                    return pilfer_pool_new(&p, nullptr) + pilfer_pool_run(p, throws, nullptr);
                }},
        thrower{"join_first", [] { return pilfer_join2(throws, nullptr, nothing, nullptr); }},
        thrower{"join_second", [] { return pilfer_join2(nothing, nullptr, throws, nullptr); }},
        thrower{"spawn", throws_in_scope<pilfer_scope_spawn>},
        thrower{"fork", throws_in_scope<pilfer_scope_fork>},
        thrower{"loop", [] { return pilfer_for_each(0, 9, throws_piece, nullptr); }},
        thrower{"sort", [] { return pilfer_sort(some_numbers.data(), 100, 8, throws_compared, nullptr); }},
        thrower{"find",
                [] {
                    std::size_t found = 0;
                    return pilfer_find(0, 9, throws_held, nullptr, &found);
                }},
        thrower{"reduce_elements",
                [] {
                    std::uint64_t sum = 0;
                    return pilfer_reduce_elements(some_numbers.data(), 100, 8, throws_combined, nullptr,
                                                  &sum);
                }},
        thrower{"scan",
                [] {
                    return pilfer_inclusive_scan(some_numbers.data(), some_numbers.data(), 100, 8,
                                                 throws_combined, nullptr);
                }},
        thrower{"exit",
                [] {
                    pilfer_first_result_scope s;
                    return pilfer_first_result_scope_begin(&s) +
                           pilfer_first_result_scope_exit(&s, throws_made, nullptr);
                }},
        thrower{"synchronized",
                [] {
                    pilfer_synchronized* o = nullptr;
                    return pilfer_synchronized_new(&o, nullptr) +
                           pilfer_synchronized_call(o, throws_inside, nullptr);
                }},
        thrower{"call_all",
                [] {
                    pilfer_synchronized* o = nullptr;
                    return pilfer_synchronized_new(&o, nullptr) + pilfer_call_all(&o, 1, throws_all, nullptr);
                }},
        thrower{"condition",
                [] {
                    pilfer_monitor* o = nullptr;
                    return pilfer_monitor_new(&o, nullptr) +
                           pilfer_monitor_call_when(o, throws_asked, throws_inside, nullptr);
                }},
        thrower{"fold",
                [] {
                    pilfer_reducer r = intervals;
                    r.fold = [](void*, std::size_t, std::size_t, void*) { throw std::runtime_error("x"); };
                    interval all{0, 0, false};
                    return pilfer_reduce(0, 9, &r, nullptr, &all);
                }},
        thrower{"then",
                [] {
                    pilfer_future* f = nullptr;
                    pilfer_future* g = nullptr;
                    return pilfer_async(nullptr, no_value, nullptr, &f) +
                           pilfer_future_then(f, throws_following, nullptr, &g) + pilfer_future_wait(g);
                }},
        thrower{"on_event",
                [] {
                    static pilfer_event set;
                    return wait_for_the_end(pilfer_event_init(&set, 1) + pilfer_on_event(nullptr, &set,
                                                                                         throws_each_time,
                                                                                         nullptr, nullptr));
                }},
        thrower{"on_channel",
                [] {
                    pilfer_channel* c = nullptr;
                    return wait_for_the_end(pilfer_channel_new(&c, 1) + pilfer_channel_send(c, nullptr) +
                                            pilfer_on_channel(nullptr, c, throws_taken, nullptr, nullptr));
                }},
        thrower{"on_start",
                [] {
                    const c_options o;
                    pilfer_pool* p = nullptr;
                    return pilfer_options_on_start(o.handle(), throws_of_thread, nullptr) +
                           pilfer_pool_new(&p, o.handle());
                }},
        thrower{"advice",
                [] {
                    const c_options o;
                    pilfer_pool* p = nullptr;
                    return pilfer_options_set_advice(o.handle(), throws_number, nullptr) +
                           pilfer_pool_new(&p, o.handle()) + pilfer_pool_run(p, works_on, nullptr);
                }},
        thrower{"future",
                [] {
                    pilfer_future* f = nullptr;
                    return pilfer_async(nullptr, throws_value, nullptr, &f) + pilfer_future_wait(f);
                }}),
    [](const auto& one) { return std::string(one.param.name); });

} // namespace
