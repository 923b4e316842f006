// Pools, futures and scopes: wrong state, wrong thread, wrong worker, empty and moved-from handles.
#include <chrono>
#include <climits>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bad_input/rows.hpp"
#include "pool/pool_core.hpp"

namespace {

using namespace bad_input;
using pilfer::shutdown_mode;

const auto* const usage = &typeid(pilfer::usage_error);
const auto* const twice = &typeid(pilfer::promise_already_satisfied);
const auto* const closed = &typeid(pilfer::pool_closed);
const auto* const broken = &typeid(pilfer::broken_promise);
const auto* const invalid = &typeid(std::invalid_argument);
const auto* const range = &typeid(std::out_of_range);
const auto* const system_error = &typeid(std::system_error);
const auto* const empty_call = &typeid(std::bad_function_call);
const auto* const own = &typeid(spoiled);

constexpr const char* shut = "the pool is shut down";
constexpr const char* own_task = "cannot be shut down by one of its own tasks";
constexpr const char* mode = "mode must be drain or drop";
constexpr const char* no_task = "this future refers to no task";

/// A pool at its end.
struct ended_pool {
    pilfer::pool pool{support::workers(2)};
    explicit ended_pool(shutdown_mode m = shutdown_mode::drain) { pool.shutdown(m); }
};

/// A future of a task that was dropped.
[[nodiscard]] pilfer::future<int> dropped_future() {
    pilfer::pool pool(support::workers(1));
    std::atomic<bool> running{false};
    auto busy = pool.async([&] {
        running = true;
        while (!pool.core().dropping()) {
            std::this_thread::yield();
        }
    });
    while (!running) {
        std::this_thread::yield();
    }
    auto late = pool.async([] { return 1; });
    pool.shutdown(shutdown_mode::drop);
    return late;
}

const row pools[] = {
    {"run_after_shutdown", [](pilfer::pool&) { ended_pool().pool.run([] {}); }, closed, shut},
    {"run_after_drop", [](pilfer::pool&) { ended_pool(shutdown_mode::drop).pool.run([] {}); }, closed, shut},
    {"named_nothing", [](pilfer::pool& p) { p.submit(pilfer::named("", [] {})); }, invalid,
     "from 1 to 255 bytes"},
    {"named_null", [](pilfer::pool& p) { p.submit(pilfer::named(nullptr, [] {})); }, invalid,
     "from 1 to 255 bytes"},
    {"named_too_long", [](pilfer::pool& p) { p.submit(pilfer::named(std::string(256, 'x'), [] {})); },
     invalid, "from 1 to 255 bytes"},
    {"named_two_lines", [](pilfer::pool& p) { (void)p.async(pilfer::named("a\nb", [] {})); }, invalid,
     "without control characters"},
    {"named_with_a_zero",
     [](pilfer::pool& p) { (void)p.async(pilfer::named(std::string_view("a\0b", 3), [] {})); }, invalid,
     "without control characters"},
    {"async_after_shutdown", [](pilfer::pool&) { (void)ended_pool().pool.async([] {}); }, closed, shut},
    {"async_after_drop", [](pilfer::pool&) { (void)ended_pool(shutdown_mode::drop).pool.async([] {}); },
     closed, shut},
    {"run_after_shutdown_from_another_pool",
     [](pilfer::pool& p) { p.run([] { ended_pool().pool.run([] {}); }); }, closed, shut},
    {"async_after_shutdown_from_another_pool",
     [](pilfer::pool& p) { p.run([] { (void)ended_pool().pool.async([] {}); }); }, closed, shut},
    {"run_after_shutdown_in_a_join",
     [](pilfer::pool& p) { p.run([] { (void)pilfer::join([] { ended_pool().pool.run([] {}); }, [] {}); }); },
     closed, shut},
    {"on_after_shutdown",
     [](pilfer::pool&) {
         pilfer::event e;
         ended_pool gone;
         (void)pilfer::on(gone.pool, e, [] {});
     },
     closed, shut},
    {"on_no_descriptor", [](pilfer::pool& p) { (void)pilfer::on(p, pilfer::io::readable(-1), [] {}); },
     system_error, "on() of a descriptor"},
    {"on_a_made_up_descriptor",
     [](pilfer::pool& p) { (void)pilfer::on(p, pilfer::io::writable(INT_MAX), [] {}); }, system_error,
     "on() of a descriptor"},
    {"io_of_no_descriptor",
     [](pilfer::pool& p) {
         p.run([] {
             char c = 0;
             EXPECT_EQ(pilfer::io::wait_readable(-1), std::errc::bad_file_descriptor);
             EXPECT_EQ(pilfer::io::read(INT_MAX, &c, 1).error, std::errc::bad_file_descriptor);
             EXPECT_EQ(pilfer::io::close(INT_MIN), std::errc::bad_file_descriptor);
             EXPECT_EQ(pilfer::io::forget(INT_MIN), 0U);
         });
     },
     accepted},
    {"shutdown_twice", [](pilfer::pool&) { ended_pool().pool.shutdown(); }, accepted},
    {"shutdown_drop_after_drain", [](pilfer::pool&) { ended_pool().pool.shutdown(shutdown_mode::drop); },
     accepted},
    {"shutdown_drain_after_drop", [](pilfer::pool&) { ended_pool(shutdown_mode::drop).pool.shutdown(); },
     accepted},
    {"shutdown_mode_above", [](pilfer::pool& p) { p.shutdown(static_cast<shutdown_mode>(2)); }, invalid,
     mode},
    {"shutdown_mode_negative", [](pilfer::pool& p) { p.shutdown(static_cast<shutdown_mode>(-1)); }, invalid,
     "not -1"},
    {"shutdown_mode_huge", [](pilfer::pool& p) { p.shutdown(static_cast<shutdown_mode>(INT_MAX)); }, invalid,
     mode},
    {"shutdown_mode_least", [](pilfer::pool& p) { p.shutdown(static_cast<shutdown_mode>(INT_MIN)); }, invalid,
     mode},
    {"shutdown_mode_after_the_end",
     [](pilfer::pool&) { ended_pool().pool.shutdown(static_cast<shutdown_mode>(2)); }, invalid, mode},
    {"shutdown_mode_from_an_own_task",
     [](pilfer::pool& p) { p.run([&] { p.shutdown(static_cast<shutdown_mode>(9)); }); }, invalid, "not 9"},
    {"shutdown_from_an_own_task", [](pilfer::pool& p) { p.run([&] { p.shutdown(); }); }, usage, own_task},
    {"shutdown_drop_from_an_own_task",
     [](pilfer::pool& p) { p.run([&] { p.shutdown(shutdown_mode::drop); }); }, usage, own_task},
    {"shutdown_from_an_async", [](pilfer::pool& p) { p.async([&] { p.shutdown(); }).get(); }, usage,
     own_task},
    {"shutdown_from_a_branch",
     [](pilfer::pool& p) { p.run([&] { (void)pilfer::join([] {}, [&] { p.shutdown(); }); }); }, usage,
     own_task},
    {"shutdown_from_a_spawned_child",
     [](pilfer::pool& p) {
         p.run([&] {
             pilfer::scope s;
             s.spawn([&] { p.shutdown(); });
             s.sync();
         });
     },
     usage, own_task},
    {"shutdown_from_a_forked_child",
     [](pilfer::pool& p) {
         p.run([&] {
             pilfer::scope s;
             s.fork([&] { p.shutdown(shutdown_mode::drop); });
             s.sync();
         });
     },
     usage, own_task},
    {"shutdown_from_a_loop_body",
     [](pilfer::pool& p) { p.run([&] { pilfer::for_each(0, 3, [&](int) { p.shutdown(); }); }); }, usage,
     own_task},
    {"shutdown_by_a_task_of_another_pool",
     [](pilfer::pool& p) {
         pilfer::pool other(support::workers(1));
         p.run([&] { other.shutdown(); });
     },
     accepted},
    {"counters_of_the_next_worker", [](pilfer::pool& p) { (void)p.counters(2); }, range, "no such worker"},
    {"counters_of_a_huge_worker", [](pilfer::pool& p) { (void)p.counters(UINT_MAX); }, range,
     "no such worker"},
    {"counters_of_minus_one", [](pilfer::pool& p) { (void)p.counters(static_cast<unsigned>(-1)); }, range,
     "no such worker"},
    {"counters_of_no_worker_after_the_end", [](pilfer::pool&) { (void)ended_pool().pool.counters(2); }, range,
     "no such worker"},
    {"counters_after_the_end", [](pilfer::pool&) { (void)ended_pool().pool.counters(1); }, accepted},
    {"settings_after_the_end", [](pilfer::pool&) { EXPECT_EQ(ended_pool().pool.settings().workers, 2U); },
     accepted},
    {"run_within_run", [](pilfer::pool& p) { p.run([&] { p.run([&] { p.run([] {}); }); }); }, accepted},
    {"run_there_and_back",
     [](pilfer::pool& p) {
         pilfer::pool other(support::workers(1));
         EXPECT_EQ(p.run([&] { return other.run([&] { return p.run([] { return 4; }); }); }), 4);
     },
     accepted},
    {"run_of_an_empty_function", [](pilfer::pool& p) { p.run(std::function<void()>()); }, empty_call, ""},
    {"run_of_a_moved_from_function",
     [](pilfer::pool& p) {
         std::function<void()> f = [] {};
         const auto g = std::move(f);
         f = nullptr;
         p.run(f);
     },
     empty_call, ""},
    {"async_of_an_empty_function", [](pilfer::pool& p) { p.async(std::function<int()>()).get(); }, empty_call,
     ""},
    {"async_of_what_spoils_its_copy",
     [](pilfer::pool& p) {
         const spoils_copy f;
         (void)p.async(f);
     },
     own, "spoiled"},
    {"async_of_what_spoils_its_move", [](pilfer::pool& p) { (void)p.async(spoils_move()); }, own, "spoiled"},
    {"async_of_what_spoils_its_move_inside",
     [](pilfer::pool& p) { p.run([] { (void)pilfer::async(spoils_move()); }); }, own, "spoiled"},
    {"run_of_what_throws", [](pilfer::pool& p) { p.run([] { throw spoiled(); }); }, own, "spoiled"},
};

const row futures[] = {
    {"get_of_none", [](pilfer::pool&) { (void)pilfer::future<int>().get(); }, usage, no_task},
    {"take_of_none", [](pilfer::pool&) { (void)pilfer::future<int>().take(); }, usage, no_task},
    {"wait_of_none", [](pilfer::pool&) { pilfer::future<int>().wait(); }, usage, no_task},
    {"ready_of_none", [](pilfer::pool&) { (void)pilfer::future<int>().ready(); }, usage, no_task},
    {"get_of_no_void", [](pilfer::pool&) { pilfer::future<void>().get(); }, usage, no_task},
    {"get_of_no_reference", [](pilfer::pool&) { (void)pilfer::future<int&>().get(); }, usage, no_task},
    {"get_of_none_inside", [](pilfer::pool& p) { p.run([] { return pilfer::future<int>().get(); }); }, usage,
     no_task},
    {"wait_for_of_none", [](pilfer::pool&) { (void)pilfer::future<int>().wait_for(std::chrono::seconds(1)); },
     usage, no_task},
    {"then_of_none", [](pilfer::pool& p) { (void)pilfer::future<int>().then(p, [](int) {}); }, usage,
     no_task},
    {"continue_with_of_none",
     [](pilfer::pool& p) {
         (void)pilfer::future<void>().continue_with(p, [](const pilfer::future<void>&) {});
     },
     usage, no_task},
    {"when_all_with_none_among_them",
     [](pilfer::pool& p) { (void)pilfer::when_all(p.async([] {}), pilfer::future<int>()); }, usage, no_task},
    {"when_any_with_none_among_them",
     [](pilfer::pool& p) {
         std::vector<pilfer::future<int>> some(3);
         some[1] = p.async([] { return 1; });
         (void)pilfer::when_any(some);
     },
     usage, no_task},
    {"then_of_what_spoils_its_copy",
     [](pilfer::pool& p) {
         const spoils_copy f;
         (void)p.async([] {}).then(f);
     },
     own, "spoiled"},
    {"then_in_a_pool_that_is_shut_down",
     [](pilfer::pool& p) {
         ended_pool e;
         p.async([] {}).then(e.pool, [] {}).get();
     },
     closed, shut},
    {"set_a_promise_twice",
     [](pilfer::pool&) {
         pilfer::promise<int> p;
         p.set_value(1);
         p.set_value(2);
     },
     twice, "has been set already"},
    {"set_a_promise_to_no_exception", [](pilfer::pool&) { pilfer::promise<void>().set_exception(nullptr); },
     usage, "no exception"},
    {"set_a_promise_moved_from",
     [](pilfer::pool&) {
         pilfer::promise<void> p;
         const pilfer::promise<void> q = std::move(p);
         p.set_value(); // NOLINT(bugprone-use-after-move): that is the row
     },
     usage, "moved from"},
    {"get_of_a_promise_that_nobody_sets",
     [](pilfer::pool&) {
         pilfer::promise<void> p;
         const auto f = p.get_future();
         p = pilfer::promise<void>();
         f.get();
     },
     broken, "before it was set"},
    {"valid_of_none", [](pilfer::pool&) { EXPECT_FALSE(pilfer::future<int>().valid()); }, accepted},
    {"get_of_a_copy_of_none",
     [](pilfer::pool&) {
         const pilfer::future<int> none;
         const auto copy = none; // NOLINT(performance-unnecessary-copy-initialization)
         (void)copy.get();
     },
     usage, no_task},
    {"get_moved_from",
     [](pilfer::pool& p) {
         auto f = p.async([] { return 1; });
         const auto g = std::move(f);
         EXPECT_EQ(g.get(), 1);
         (void)f.get(); // NOLINT(bugprone-use-after-move): that is the row
     },
     usage, no_task},
    {"wait_moved_from",
     [](pilfer::pool& p) {
         auto f = p.async([] {});
         const auto g = std::move(f);
         f.wait(); // NOLINT(bugprone-use-after-move)
     },
     usage, no_task},
    {"ready_assigned_from",
     [](pilfer::pool& p) {
         auto f = p.async([] {});
         pilfer::future<void> g;
         g = std::move(f);
         g.get();
         (void)f.ready(); // NOLINT(bugprone-use-after-move)
     },
     usage, no_task},
    {"get_after_assigning_none",
     [](pilfer::pool& p) {
         auto f = p.async([] { return 1; });
         f = {};
         (void)f.get();
     },
     usage, no_task},
    {"assigned_to_itself",
     [](pilfer::pool& p) {
         auto f = p.async([] { return 1; });
         const auto& same = f;
         f = same;
         EXPECT_EQ(f.get(), 1);
     },
     accepted},
    {"get_twice",
     [](pilfer::pool& p) {
         const auto f = p.async([] { return 5; });
         EXPECT_EQ(f.get() + f.get(), 10);
     },
     accepted},
    {"wait_after_take",
     [](pilfer::pool& p) {
         auto f = p.async([] { return std::make_unique<int>(5); });
         EXPECT_EQ(*f.take(), 5);
         f.wait();
         EXPECT_TRUE(f.ready());
     },
     accepted},
    {"get_of_an_exception_twice",
     [](pilfer::pool& p) {
         const auto f = p.async([]() -> int { throw spoiled(); });
         EXPECT_THROW((void)f.get(), spoiled);
         (void)f.get();
     },
     own, "spoiled"},
    {"take_of_an_exception", [](pilfer::pool& p) { (void)p.async([]() -> int { throw spoiled(); }).take(); },
     own, "spoiled"},
    {"get_after_the_end_of_the_pool",
     [](pilfer::pool&) {
         pilfer::future<int> f;
         {
             pilfer::pool gone(support::workers(1));
             f = gone.async([] { return 8; });
         }
         EXPECT_EQ(f.get(), 8);
     },
     accepted},
    {"get_of_a_dropped_one", [](pilfer::pool&) { (void)dropped_future().get(); }, broken,
     "dropped by shutdown(drop)"},
    {"take_of_a_dropped_one", [](pilfer::pool&) { (void)dropped_future().take(); }, broken, "dropped"},
    {"get_of_a_dropped_one_twice_inside",
     [](pilfer::pool& p) {
         const auto f = dropped_future();
         EXPECT_THROW((void)f.get(), pilfer::broken_promise);
         p.run([&] { (void)f.get(); });
     },
     broken, "dropped"},
    {"wait_of_a_dropped_one", [](pilfer::pool&) { dropped_future().wait(); }, accepted},
};

constexpr const char* inside = "inside a call of the same object";

/// Runs `call` and checks that the object is still usable.
template <class Object, class Call>
void then_free(Object& o, Call call) {
    struct look {
        Object& object;
        ~look() {
            object.call([](int& v) { ++v; });
        }
    } const behind{o};
    call(o);
}

const row objects[] = {
    {"synchronized_call_inside",
     [](pilfer::pool&) {
         pilfer::synchronized<int> l(0);
         then_free(l, [](auto& o) { o.call([&](int&) { o.call([](int&) {}); }); });
     },
     usage, inside},
    {"synchronized_call_inside_of_a_task",
     [](pilfer::pool& p) {
         pilfer::synchronized<int> l(0);
         then_free(l, [&](auto& o) { p.run([&] { o.call([&](int&) { o.call([](int&) {}); }); }); });
     },
     usage, inside},
    {"synchronized_call_of_nothing",
     [](pilfer::pool&) {
         pilfer::synchronized<int> l(0);
         then_free(l, [](auto& o) { o.call(std::function<void(int&)>()); });
     },
     empty_call},
    {"synchronized_call_all_twice_the_same",
     [](pilfer::pool&) {
         pilfer::synchronized<int> l(0);
         then_free(l, [](auto& o) { pilfer::call_all([](int&, int&) {}, o, o); });
     },
     usage, "the same object twice"},
    {"monitor_call_inside",
     [](pilfer::pool&) {
         pilfer::monitor<int> q(0);
         then_free(
             q, [](auto& o) { o.call_when([](int) { return true; }, [&](int&) { o.call([](int&) {}); }); });
     },
     usage, inside},
    {"monitor_condition_of_nothing",
     [](pilfer::pool&) {
         pilfer::monitor<int> q(0);
         then_free(q, [](auto& o) { o.call_when(std::function<bool(int)>(), [](int&) {}); });
     },
     empty_call},
    {"monitor_call_of_nothing",
     [](pilfer::pool&) {
         pilfer::monitor<int> q(0);
         then_free(q, [](auto& o) { o.call_when([](int) { return true; }, std::function<void(int&)>()); });
     },
     empty_call},
    {"monitor_condition_that_throws",
     [](pilfer::pool&) {
         pilfer::monitor<int> q(0);
         then_free(q, [](auto& o) { o.call_when([](int) -> bool { throw spoiled(); }, [](int&) {}); });
     },
     own},
};

class bad_input_object : public rows {};
TEST_P(bad_input_object, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_object, testing::ValuesIn(objects), row_name());

class bad_input_pool_call : public rows {};
TEST_P(bad_input_pool_call, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_pool_call, testing::ValuesIn(pools), row_name());

class bad_input_future : public rows {};
TEST_P(bad_input_future, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_future, testing::ValuesIn(futures), row_name());

} // namespace
