// Wrong calls of <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <array>
#include <climits>
#include <string>
#include <thread>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_misuse : public guarded {};

// ---- wrong calls ------------------------------------------------------------------------------

void nothing(void*) {}
void* no_value(void*) { return nullptr; }
void* no_following(void*, void*) { return nullptr; }
void* no_handling(pilfer_future*, void*) { return nullptr; }
int never_again(void*) { return 0; }
int never_taken(void*, void*) { return 0; }
int no_made(void*, void**) { return 0; }
void no_change(void*, void*) {}
void no_look(const void*, void*) {}
void no_changes(void* const*, void*) {}
int is_ready(const void*, void*) { return 1; }
void no_piece(std::size_t, std::size_t, void*) {}
void no_combination(void*, const void*, void*) {}

/// The text is wrong for that option. It is refused with the option's name, and changes nothing.
struct wrong_text {
    const char* option;
    const char* value;
    const char* said;
};

TEST_F(c_misuse, bad_input_option_texts) {
    const std::string nines(30, '9');
    const wrong_text rows[] = {
        {"workers", "", "options.workers must be a decimal number"},
        {"workers", "-1", "not \"-1\""},
        {"workers", "+1", "not \"+1\""},
        {"workers", " 1", "not \" 1\""},
        {"workers", "1 ", "not \"1 \""},
        {"workers", "0x2", "not \"0x2\""},
        {"workers", "4294967296", "that its type can hold"},
        {"workers", nines.c_str(), "that its type can hold"},
        {"stack_size", "256K", "options.stack_size must be"},
        {"max_contexts", "1e3", "options.max_contexts must be"},
        {"debug.dump_signal", "-5", "options.debug.dump_signal must be"},
        {"debug.dump_signal", "2147483648", "options.debug.dump_signal must be"},
        {"debug.stall_report", "off", "options.debug.stall_report must be"},
        {"debug.trace_events", "all", "options.debug.trace_events must be"},
        {"debug.count_all", "", "options.debug.count_all must be 0 or 1"},
        {"debug.count_all", "2", "options.debug.count_all must be 0 or 1"},
        {"debug.overflow_message", "no", "options.debug.overflow_message must be 0 or 1"},
        {"debug.profile", "true", "options.debug.profile must be 0 or 1"},
        {"pin", "Compact", "options.pin must be automatic, off, compact or spread"},
        {"pin", "", "options.pin must be"},
        {"resume", "own_thread", "options.resume must be anywhere, own-thread or elsewhere"},
        {"spin", "Battery", "options.spin must be automatic, latency, balanced or battery"},
        {"spin", "", "options.spin must be"},
        {"priority", "", "options.priority must be a decimal number"},
        {"priority", "--5", "options.priority must be"},
        {"priority", "+5", "options.priority must be"},
        {"priority", "low", "options.priority must be"},
        {"priority", "-2147483649", "options.priority must be"},
        {"name", "12345678901", "options.name must be at most 10 bytes long"},
        {"name", "a\nb", "without control characters"},
        {"balance.unshare", "two", "options.balance.unshare must be one or all"},
        {"balance", "halve", "options.balance=\"halve\": \"halve\" is no policy"},
        {"balance", "one,half", "is a second amount"},
        {"balance", "0/1", "P/Q needs"},
        {"balance", ",", "is no policy"},
        {"", "1", "there is no option \"\""},
        {"Workers", "1", "there is no option \"Workers\""},
        {"eager", "1", "there is no option \"eager\""},
        {"count_all", "1", "there is no option \"count_all\""},
        {"debug", "1", "there is no option \"debug\""},
        {"workers ", "1", "there is no option"},
    };
    c_options o;
    for (const wrong_text& row : rows) {
        std::array<char, 128> before{};
        const bool known = pilfer_options_get(o.handle(), row.option, before.data(), before.size()) == 0;
        EXPECT_EQ(pilfer_options_set(o.handle(), row.option, row.value), PILFER_EINVAL)
            << row.option << " = " << row.value;
        EXPECT_NE(o.error().find(row.said), std::string::npos) << o.error();
        if (known) {
            EXPECT_EQ(o.get(row.option), before.data()) << row.value;
        }
    }
    // Values that only the pool can judge.
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, const char*>>{{"workers", "4097"},
                                                                    {"stack_size", "16383"},
                                                                    {"debug.trace_events", "65"},
                                                                    {"debug.dump_signal", "9"},
                                                                    {"priority", "-21"},
                                                                    {"priority", "20"}}) {
        c_options bad;
        bad.set(name, value);
        pilfer_pool* pool = nullptr;
        EXPECT_EQ(pilfer_pool_new(&pool, bad.handle()), PILFER_EINVAL);
        EXPECT_EQ(pool, nullptr);
        EXPECT_NE(bad.error().find("options." + std::string(name)), std::string::npos) << bad.error();
    }
    std::array<char, 4> text{};
    EXPECT_EQ(pilfer_options_get(o.handle(), "resume", text.data(), text.size()), PILFER_EINVAL);
    EXPECT_NE(o.error().find("options.resume"), std::string::npos) << o.error();
    EXPECT_EQ(pilfer_options_get(o.handle(), "no", text.data(), text.size()), PILFER_EINVAL);
    EXPECT_NE(o.error().find("\"no\""), std::string::npos) << o.error();
}

TEST_F(c_misuse, bad_input_arguments) {
    with_a_common_pool([] {
        c_pool pool(2U);
        const c_options o;
        pilfer_pool* no_pool = pool;
        pilfer_future* future = nullptr;
        pilfer_timer* timer = nullptr;
        pilfer_event event; // never begun either
        pilfer_channel* channel = nullptr;
        ASSERT_EQ(pilfer_channel_new(&channel, 1), 0);
        auto* subscription = reinterpret_cast<pilfer_subscription*>(&timer); // to be overwritten
        std::size_t bytes = 7;
        pilfer_counters counters{};
        pilfer_work_span figures{};
        pilfer_scope s;
        pilfer_scope none; // never begun
        pilfer_future* ready = nullptr;
        ASSERT_EQ(pilfer_async(pool, no_value, nullptr, &ready), 0);
        const std::array<pilfer_future*, 2> pair = {ready, nullptr};
        pilfer_mutex mutex;
        pilfer_condition condition;
        pilfer_semaphore semaphore;
        pilfer_latch latch;
        void* got = nullptr;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        pilfer_first_result_scope exits;
        ASSERT_EQ(pilfer_first_result_scope_begin(&exits), 0);
        pilfer_deadline limit;
        pilfer_synchronized* locked = nullptr;
        ASSERT_EQ(pilfer_synchronized_new(&locked, &s), 0);
        pilfer_monitor* queued = nullptr;
        ASSERT_EQ(pilfer_monitor_new(&queued, &s), 0);
        std::array<char, 128> text{};
        int value = 0;
        const pilfer_reducer sums = {sizeof value, [](void*, void*) {},
                                     [](void*, std::size_t, std::size_t, void*) {},
                                     [](void*, void*, void*) {}};
        const auto without = [&](auto member) {
            pilfer_reducer r = sums;
            r.*member = {};
            return pilfer_reduce(0, 9, &r, nullptr, &value);
        };
        const int codes[] = {
            pilfer_options_new(nullptr),
            pilfer_options_set(nullptr, "workers", "1"),
            pilfer_options_set(o.handle(), nullptr, "1"),
            pilfer_options_set(o.handle(), "workers", nullptr),
            pilfer_options_get(nullptr, "workers", text.data(), text.size()),
            pilfer_options_get(o.handle(), nullptr, text.data(), text.size()),
            pilfer_options_get(o.handle(), "workers", nullptr, 64),
            pilfer_options_get(o.handle(), "workers", text.data(), 0),
            pilfer_pool_new(nullptr, nullptr),
            pilfer_pool_common(nullptr),
            pilfer_pool_shutdown(nullptr, PILFER_DRAIN),
            pilfer_pool_shutdown(pool, -1),
            pilfer_pool_shutdown(pool, 2),
            pilfer_pool_run(nullptr, nothing, nullptr),
            pilfer_pool_run(pool, nullptr, nullptr),
            pilfer_pool_settings(nullptr, o.handle()),
            pilfer_pool_settings(pool, nullptr),
            pilfer_pool_dump(nullptr, 2),
            pilfer_pool_dump(pool, -1),
            pilfer_prometheus_text(nullptr, 0, nullptr),
            pilfer_prometheus_text(nullptr, 1, &bytes),
            pilfer_pool_write_trace(nullptr, "x"),
            pilfer_pool_write_trace(pool, nullptr),
            pilfer_pool_counters(nullptr, &counters),
            pilfer_pool_counters(pool, nullptr),
            pilfer_worker_counters(nullptr, 0, &counters),
            pilfer_worker_counters(pool, 0, nullptr),
            pilfer_worker_counters(pool, 2, &counters),
            pilfer_worker_counters(pool, UINT_MAX, &counters),
            pilfer_pool_profile(nullptr, &figures),
            pilfer_pool_profile(pool, nullptr),
            pilfer_join2(nullptr, nullptr, nothing, nullptr),
            pilfer_join2(nothing, nullptr, nullptr, nullptr),
            pilfer_scope_begin(nullptr),
            pilfer_scope_begin_at(nullptr, PILFER_RESUME_ANYWHERE),
            pilfer_scope_begin_at(&none, 2),
            pilfer_scope_begin_at(&none, -1),
            pilfer_scope_spawn(nullptr, nothing, nullptr),
            pilfer_scope_spawn(&s, nullptr, nullptr),
            pilfer_scope_fork(nullptr, nothing, nullptr),
            pilfer_scope_fork(&s, nullptr, nullptr),
            pilfer_scope_spawn_with(&s, weighing(4'294'967'297), nothing, nullptr),
            pilfer_scope_fork_with(&s, weighing(UINT64_MAX), nothing, nullptr),
            pilfer_scope_fork_with(nullptr, weighing(1), nothing, nullptr),
            pilfer_scope_spawn_with(&s, at(PILFER_HIGH), nothing, nullptr),
            pilfer_scope_fork_with(&s, at(PILFER_LOW), nothing, nullptr),
            pilfer_scope_fork_with(&s, called(""), nothing, nullptr),
            pilfer_scope_sync(nullptr),
            pilfer_scope_shared(nullptr),
            pilfer_scope_cancel(nullptr),
            pilfer_scope_cancelled(nullptr),
            pilfer_scope_end(nullptr),
            pilfer_deadline_begin(nullptr, &s, 1),
            pilfer_deadline_begin(&limit, nullptr, 1),
            pilfer_deadline_end(nullptr),
            pilfer_first_result_scope_begin(nullptr),
            pilfer_first_result_scope_spawn(nullptr, nothing, nullptr),
            pilfer_first_result_scope_spawn(&exits, nullptr, nullptr),
            pilfer_first_result_scope_fork(nullptr, nothing, nullptr),
            pilfer_first_result_scope_fork(&exits, nullptr, nullptr),
            pilfer_first_result_scope_exit(nullptr, no_made, nullptr),
            pilfer_first_result_scope_exit(&exits, nullptr, nullptr),
            pilfer_first_result_scope_exit_value(nullptr, nullptr),
            pilfer_first_result_scope_cancel(nullptr),
            pilfer_first_result_scope_sync(nullptr, &got),
            pilfer_first_result_scope_end(nullptr),
            pilfer_mutex_lock_cancellable(nullptr),
            pilfer_shared_mutex_lock_cancellable(nullptr),
            pilfer_shared_mutex_lock_shared_cancellable(nullptr),
            pilfer_synchronized_new(nullptr, nullptr),
            pilfer_synchronized_new_shared(nullptr, nullptr),
            pilfer_synchronized_call(nullptr, no_change, nullptr),
            pilfer_synchronized_call(locked, nullptr, nullptr),
            pilfer_synchronized_read(nullptr, no_look, nullptr),
            pilfer_synchronized_read(locked, nullptr, nullptr),
            pilfer_synchronized_try_call(nullptr, no_change, nullptr),
            pilfer_synchronized_try_call(locked, nullptr, nullptr),
            pilfer_synchronized_call_for(nullptr, no_change, nullptr, 1),
            pilfer_synchronized_call_for(locked, nullptr, nullptr, 1),
            pilfer_call_all(nullptr, 1, no_changes, nullptr),
            pilfer_call_all(&locked, 0, no_changes, nullptr),
            pilfer_call_all(&locked, 1, nullptr, nullptr),
            pilfer_monitor_new(nullptr, nullptr),
            pilfer_monitor_call(nullptr, no_change, nullptr),
            pilfer_monitor_call(queued, nullptr, nullptr),
            pilfer_monitor_read(nullptr, no_look, nullptr),
            pilfer_monitor_read(queued, nullptr, nullptr),
            pilfer_monitor_call_when(nullptr, is_ready, no_change, nullptr),
            pilfer_monitor_call_when(queued, nullptr, no_change, nullptr),
            pilfer_monitor_call_when(queued, is_ready, nullptr, nullptr),
            pilfer_monitor_try_call_when(nullptr, is_ready, no_change, nullptr),
            pilfer_monitor_try_call_when(queued, nullptr, no_change, nullptr),
            pilfer_monitor_try_call_when(queued, is_ready, nullptr, nullptr),
            pilfer_monitor_call_when_for(nullptr, is_ready, no_change, nullptr, 1),
            pilfer_monitor_call_when_for(queued, nullptr, no_change, nullptr, 1),
            pilfer_monitor_call_when_for(queued, is_ready, nullptr, nullptr, 1),
            pilfer_for_each(0, 9, nullptr, nullptr),
            pilfer_reduce(0, 9, nullptr, nullptr, &value),
            pilfer_reduce(0, 9, &sums, nullptr, nullptr),
            without(&pilfer_reducer::size),
            without(&pilfer_reducer::identity),
            without(&pilfer_reducer::fold),
            without(&pilfer_reducer::combine),
            pilfer_async(pool, nullptr, nullptr, &future),
            pilfer_async(pool, no_value, nullptr, nullptr),
            pilfer_async_with(pool, weighing(4'294'967'297), no_value, nullptr, &future),
            pilfer_blocking(nullptr, nullptr),
            pilfer_submit(nullptr, nothing, nullptr),
            pilfer_submit(pool, nullptr, nullptr),
            pilfer_after(pool, 1, nullptr, nullptr, &timer),
            pilfer_every(pool, 1, nullptr, nullptr, &timer),
            pilfer_every(pool, 0, never_again, nullptr, &timer),
            pilfer_every(pool, UINT64_MAX, never_again, nullptr, &timer),
            pilfer_timer_cancel(nullptr),
            pilfer_timer_over(nullptr),
            pilfer_future_get(nullptr, nullptr),
            pilfer_future_wait(nullptr),
            pilfer_future_ready(nullptr),
            pilfer_future_wait_for(nullptr, 1),
            pilfer_future_then(nullptr, no_following, nullptr, &future),
            pilfer_future_then(ready, nullptr, nullptr, &future),
            pilfer_future_then(ready, no_following, nullptr, nullptr),
            pilfer_future_then_in(pool, nullptr, no_following, nullptr, &future),
            pilfer_future_continue_with(nullptr, no_handling, nullptr, &future),
            pilfer_future_continue_with(ready, nullptr, nullptr, &future),
            pilfer_future_continue_with(ready, no_handling, nullptr, nullptr),
            pilfer_future_continue_with_in(pool, ready, nullptr, nullptr, &future),
            pilfer_when_all(nullptr, 1, &future),
            pilfer_when_all(pair.data(), 2, &future),
            pilfer_when_all(pair.data(), 1, nullptr),
            pilfer_when_any(nullptr, 1, &future),
            pilfer_when_any(pair.data(), 2, &future),
            pilfer_when_any(pair.data(), 1, nullptr),
            pilfer_promise_new(nullptr),
            pilfer_promise_set_value(nullptr, nullptr),
            pilfer_promise_set_error(nullptr, -1000),
            pilfer_mutex_init(nullptr),
            pilfer_mutex_lock(nullptr),
            pilfer_mutex_try_lock(nullptr),
            pilfer_mutex_lock_for(nullptr, 1),
            pilfer_mutex_unlock(nullptr),
            pilfer_condition_init(nullptr),
            pilfer_condition_wait(nullptr, &mutex),
            pilfer_condition_wait(&condition, nullptr),
            pilfer_condition_wait_for(nullptr, &mutex, 1),
            pilfer_condition_wait_for(&condition, nullptr, 1),
            pilfer_condition_notify_one(nullptr),
            pilfer_condition_notify_all(nullptr),
            pilfer_semaphore_init(nullptr, 0),
            pilfer_semaphore_init(&semaphore, -1),
            pilfer_semaphore_release(nullptr, 1),
            pilfer_semaphore_release(&semaphore, -1),
            pilfer_semaphore_acquire(nullptr),
            pilfer_semaphore_try_acquire(nullptr),
            pilfer_semaphore_acquire_for(nullptr, 1),
            pilfer_latch_init(nullptr, 0),
            pilfer_latch_init(&latch, -1),
            pilfer_latch_count_down(nullptr, 1),
            pilfer_latch_count_down(&latch, -1),
            pilfer_latch_wait(nullptr),
            pilfer_latch_try_wait(nullptr),
            pilfer_latch_wait_for(nullptr, 1),
            pilfer_event_init(nullptr, 0),
            pilfer_event_set(nullptr),
            pilfer_event_reset(nullptr),
            pilfer_event_is_set(nullptr),
            pilfer_event_wait(nullptr),
            pilfer_event_wait_for(nullptr, 1),
            pilfer_channel_new(nullptr, 1),
            pilfer_channel_send(nullptr, nullptr),
            pilfer_channel_try_send(nullptr, nullptr),
            pilfer_channel_send_for(nullptr, nullptr, 1),
            pilfer_channel_receive(nullptr, &got),
            pilfer_channel_try_receive(nullptr, &got),
            pilfer_channel_receive_for(nullptr, &got, 1),
            pilfer_channel_close(nullptr),
            pilfer_channel_closed(nullptr),
            pilfer_io_read(0, text.data(), 1, 0, nullptr),
            pilfer_io_read(0, nullptr, 1, 0, &bytes),
            pilfer_io_write(1, nullptr, 1, 0, &bytes),
            pilfer_io_accept(0, 0, nullptr),
            pilfer_io_connect(0, nullptr, 16, 0),
            pilfer_on_event(pool, nullptr, never_again, nullptr, &subscription),
            pilfer_on_event(pool, &event, nullptr, nullptr, &subscription),
            pilfer_on_channel(pool, nullptr, never_taken, nullptr, &subscription),
            pilfer_on_channel(pool, channel, nullptr, nullptr, &subscription),
            pilfer_on_readable(pool, 0, nullptr, nullptr, &subscription),
            pilfer_on_writable(pool, 1, nullptr, nullptr, &subscription),
            pilfer_subscription_cancel(nullptr),
            pilfer_subscription_over(nullptr),
        };
        for (std::size_t i = 0; i < std::size(codes); ++i) {
            EXPECT_EQ(codes[i], PILFER_EINVAL) << "row " << i;
        }
        EXPECT_EQ(future, nullptr);
        EXPECT_EQ(timer, nullptr);
        EXPECT_EQ(subscription, nullptr);
        EXPECT_EQ(bytes, 0U);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        EXPECT_EQ(pilfer_first_result_scope_end(&exits), 0);
        pilfer_synchronized_free(locked);
        pilfer_synchronized_free(nullptr);
        pilfer_monitor_free(queued);
        pilfer_monitor_free(nullptr);
        pilfer_future_free(ready);
        pilfer_promise_free(nullptr);
        EXPECT_EQ(pilfer_promise_future(nullptr), nullptr);
        pilfer_mutex_destroy(nullptr);
        pilfer_condition_destroy(nullptr);
        pilfer_semaphore_destroy(nullptr);
        pilfer_latch_destroy(nullptr);
        pilfer_event_destroy(nullptr);
        pilfer_channel_free(nullptr);
        pilfer_channel_free(channel);
        pilfer_subscription_free(nullptr);
        EXPECT_EQ(pilfer_channel_size(nullptr), 0U);
        pilfer_timer_free(nullptr);
        pilfer_options_free(nullptr);
        pilfer_future_free(nullptr);
        EXPECT_EQ(pilfer_future_copy(nullptr), nullptr);
        EXPECT_EQ(pilfer_pool_destroy(nullptr), 0);
        EXPECT_EQ(pilfer_pool_workers(nullptr), 0U);
        EXPECT_EQ(pilfer_pool_resize(nullptr, 1, nullptr), PILFER_EINVAL);
        unsigned there = 7;
        for (const unsigned n : {0U, pilfer_pool_workers(pool) + 1}) {
            EXPECT_EQ(pilfer_pool_resize(pool, n, &there), PILFER_EINVAL) << n;
        }
        EXPECT_EQ(there, 7U);
        EXPECT_STREQ(pilfer_options_error(nullptr), "");
        c_options bad(5000);
        EXPECT_EQ(pilfer_pool_new(&no_pool, bad.handle()), PILFER_EINVAL);
        EXPECT_EQ(no_pool, nullptr);
        // And it still works.
        number whole{8, 0};
        EXPECT_EQ(pilfer_pool_run(pool, fib_by_scope<way::spawn>, &whole), 0);
        EXPECT_EQ(whole.result, fib(8));
    });
}

TEST_F(c_misuse, bad_input_wrong_callers) {
    with_a_common_pool([] {
        c_pool pool(2U);
        pilfer_work_span figures{};
        EXPECT_EQ(pilfer_pool_profile(pool, &figures), PILFER_EUSAGE) << "it does not record";
        EXPECT_EQ(pilfer_pool_write_trace(pool, "/nowhere/at/all"), PILFER_ESYSTEM);
        pool.run([&] {
            EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_pool_destroy(pool), PILFER_EUSAGE);
        });
        // The scope of another task; its owner can still use it.
        pilfer_scope s;
        ASSERT_EQ(pilfer_scope_begin(&s), 0);
        pool.run([&] {
            EXPECT_EQ(pilfer_scope_spawn(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_sync(&s), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_end(&s), PILFER_EUSAGE);
        });
        std::thread([&] {
            EXPECT_EQ(pilfer_scope_spawn(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_fork(&s, nothing, nullptr), PILFER_EUSAGE);
            EXPECT_EQ(pilfer_scope_end(&s), PILFER_EUSAGE);
        }).join();
        number whole{8, 0};
        EXPECT_EQ(pilfer_scope_fork(&s, fib_by_join, &whole), 0);
        EXPECT_EQ(pilfer_scope_end(&s), 0);
        EXPECT_EQ(whole.result, fib(8));
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DRAIN), 0);
        EXPECT_EQ(pilfer_pool_shutdown(pool, PILFER_DROP), 0) << "twice is once";
        pilfer_future* future = nullptr;
        EXPECT_EQ(pilfer_async(pool, no_value, nullptr, &future), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_async_with(pool, weighing(3), no_value, nullptr, &future), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_submit(pool, nothing, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_after(pool, 1, nothing, nullptr, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(pilfer_every(pool, 1, never_again, nullptr, nullptr), PILFER_ECLOSED);
        EXPECT_EQ(future, nullptr);
    });
}

TEST_F(c_misuse, bad_input_the_common_pool_is_closed) {
    const auto result = in_child([] {
        pilfer_pool* common = nullptr;
        pilfer_future* future = nullptr;
        pilfer_scope s;
        interval all{0, 0, false};
        int n = 0;
        const bool closed =
            pilfer_pool_common(&common) == 0 && pilfer_pool_shutdown(common, PILFER_DRAIN) == 0 &&
            pilfer_join2(nothing, nullptr, nothing, nullptr) == PILFER_ECLOSED &&
            pilfer_for_each(0, 9, no_piece, nullptr) == PILFER_ECLOSED &&
            pilfer_reduce(0, 9, &intervals, nullptr, &all) == PILFER_ECLOSED &&
            pilfer_reduce_elements(&n, 1, sizeof n, no_combination, nullptr, &n) == PILFER_ECLOSED &&
            pilfer_async(nullptr, no_value, nullptr, &future) == PILFER_ECLOSED &&
            pilfer_scope_begin(&s) == 0 && pilfer_scope_spawn(&s, nothing, &n) == PILFER_ECLOSED &&
            pilfer_scope_fork(&s, nothing, &n) == PILFER_ECLOSED && pilfer_scope_end(&s) == 0;
        return closed ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

} // namespace
