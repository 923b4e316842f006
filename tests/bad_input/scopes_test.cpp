// Scopes, joins and loops: strangers, wrong order, empty and throwing functions, reversed and huge ranges.
#include <chrono>
#include <climits>
#include <cstdint>
#include <exception>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

#include "bad_input/rows.hpp"

namespace {

using namespace bad_input;

const auto* const usage = &typeid(pilfer::usage_error);
const auto* const invalid = &typeid(std::invalid_argument);
const auto* const empty_call = &typeid(std::bad_function_call);
const auto* const own = &typeid(spoiled);

constexpr const char* no_owner = "by a task that does not own the scope";
constexpr const char* stranger = "by a thread that is neither a worker nor the owner";

/// Calls f in a thread of its own, and rethrows.
template <class F>
void elsewhere(F f) {
    std::exception_ptr error;
    std::thread([&] {
        try {
            f();
        } catch (...) {
            error = std::current_exception();
        }
    }).join();
    if (error) {
        std::rethrow_exception(error);
    }
}

/// Calls f with a scope that a task of the pool owns.
template <class F>
void with_scope(pilfer::pool& p, F f) {
    p.run([&] {
        pilfer::scope s;
        f(s);
        s.sync();
    });
}

using pilfer::scope;

/// Calls f with an first_result_scope that a task of the pool owns, and expects the value 1 of it.
template <class F>
void with_first_result_scope(pilfer::pool& p, F f) {
    p.run([&] {
        pilfer::first_result_scope<int> s;
        std::exception_ptr error;
        EXPECT_TRUE(s.exit_value(1));
        try {
            f(s);
        } catch (...) {
            error = std::current_exception();
        }
        EXPECT_EQ(s.sync(), 1);
        if (error) {
            std::rethrow_exception(error);
        }
    });
}

const row cancellations[] = {
    {"cancel_of_an_empty_scope_without_a_sync",
     [](pilfer::pool& p) {
         p.run([] {
             scope s;
             s.cancel();
             s.cancel();
         });
     },
     accepted},
    {"cancel_by_a_stranger",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { elsewhere([&] { s.cancel(); }); }); }, accepted},
    {"cancel_from_another_pool",
     [](pilfer::pool& p) {
         pilfer::pool other({.workers = 1});
         with_scope(p, [&](scope& s) { other.run([&] { s.cancel(); }); });
     },
     accepted},
    {"stopped_thrown_by_a_child_of_a_scope_that_is_not_cancelled",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             s.spawn([] { throw pilfer::stopped(); });
             s.fork([] { throw pilfer::stopped(); });
         });
     },
     accepted},
    {"what_a_cancelled_scope_throws",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             s.spawn([&s] {
                 s.cancel();
                 throw spoiled();
             });
         });
     },
     own, "spoiled"},
    {"deadlines_that_are_over_or_never_come",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             const pilfer::deadline over(s, std::chrono::hours(-1));
             const pilfer::deadline never(s, std::chrono::hours::max());
             s.sync();
         });
     },
     accepted},
    {"cancel_on_an_empty_token",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) { const pilfer::cancel_on none(s, std::stop_token()); });
     },
     accepted},
    {"stop_on_cancel_and_cancelled_outside_of_the_pool",
     [](pilfer::pool&) {
         const pilfer::stop_on_cancel none;
         EXPECT_FALSE(none.token().stop_requested());
         EXPECT_FALSE(pilfer::cancelled());
     },
     accepted},
    {"first_result_scope_sync_by_another_thread",
     [](pilfer::pool& p) {
         with_first_result_scope(
             p, [](pilfer::first_result_scope<int>& s) { elsewhere([&] { (void)s.sync(); }); });
     },
     usage, "scope::sync"},
    {"first_result_scope_spawn_by_another_thread",
     [](pilfer::pool& p) {
         with_first_result_scope(
             p, [](pilfer::first_result_scope<int>& s) { elsewhere([&] { s.spawn([] {}); }); });
     },
     usage, "scope::spawn"},
    {"exit_by_a_function_that_is_empty",
     [](pilfer::pool& p) {
         p.run([] {
             pilfer::first_result_scope<int> s;
             s.spawn([&s] { (void)s.exit(std::function<int()>()); });
             (void)s.sync();
         });
     },
     empty_call},
    {"exit_whose_function_throws",
     [](pilfer::pool& p) {
         p.run([] {
             pilfer::first_result_scope<int> s;
             s.fork([&s] { (void)s.exit([]() -> int { throw spoiled(); }); });
             (void)s.sync();
         });
     },
     own, "spoiled"},
    {"exit_of_an_first_result_scope_that_was_left",
     [](pilfer::pool& p) {
         with_first_result_scope(p,
                                 [](pilfer::first_result_scope<int>& s) { EXPECT_FALSE(s.exit_value(2)); });
     },
     accepted},
};

const row scopes[] = {
    {"a_scope_that_goes_on_elsewhere",
     [](pilfer::pool& p) { p.run([] { scope s(pilfer::resume::elsewhere); }); }, invalid,
     "a scope takes resume::anywhere or resume::own_thread"},
    {"a_scope_with_a_rule_that_there_is_not",
     [](pilfer::pool& p) { p.run([] { scope s(static_cast<pilfer::resume>(77)); }); }, invalid,
     "a scope takes resume::anywhere or resume::own_thread"},
    {"spawn_by_another_thread",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { elsewhere([&] { s.spawn([] {}); }); }); }, usage,
     "scope::spawn was called by a task that does not own"},
    {"sync_by_another_thread",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { elsewhere([&] { s.sync(); }); }); }, usage,
     "scope::sync"},
    {"fork_by_another_thread",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { elsewhere([&] { s.fork([] {}); }); }); }, usage,
     stranger},
    {"spawn_into_a_foreign_scope",
     [](pilfer::pool& p) {
         scope s;
         p.run([&] { s.spawn([] {}); });
     },
     usage, no_owner},
    {"sync_of_a_foreign_scope",
     [](pilfer::pool& p) {
         scope s;
         p.run([&] { s.sync(); });
     },
     usage, no_owner},
    {"spawn_into_a_foreign_scope_by_a_third",
     [](pilfer::pool&) {
         scope s;
         elsewhere([&] { s.spawn([] {}); });
     },
     usage, no_owner},
    {"sync_of_a_foreign_scope_by_a_third",
     [](pilfer::pool&) {
         scope s;
         elsewhere([&] { s.sync(); });
     },
     usage, no_owner},
    {"fork_into_a_foreign_scope_by_a_third",
     [](pilfer::pool&) {
         scope s;
         elsewhere([&] { s.fork([] {}); });
     },
     usage, stranger},
    {"spawn_by_a_spawned_child",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn([&] { s.spawn([] {}); }); }); }, usage,
     no_owner},
    {"sync_by_a_spawned_child",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn([&] { s.sync(); }); }); }, usage, no_owner},
    {"spawn_by_a_forked_child",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.fork([&] { s.spawn([] {}); }); }); }, usage,
     no_owner},
    {"sync_by_a_forked_child",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.fork([&] { s.sync(); }); }); }, usage, no_owner},
    {"spawn_by_an_async",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { pilfer::async([&] { s.spawn([] {}); }).get(); }); },
     usage, no_owner},
    {"sync_by_an_async",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { pilfer::async([&] { s.sync(); }).get(); }); }, usage,
     no_owner},
    {"spawn_by_a_task_of_another_pool",
     [](pilfer::pool& p) {
         pilfer::pool other(support::workers(1));
         with_scope(p, [&](scope& s) { other.run([&] { s.spawn([] {}); }); });
     },
     usage, no_owner},
    {"sync_by_a_task_of_another_pool",
     [](pilfer::pool& p) {
         pilfer::pool other(support::workers(1));
         with_scope(p, [&](scope& s) { other.run([&] { s.sync(); }); });
     },
     usage, no_owner},
    {"fork_by_a_task_of_another_pool",
     [](pilfer::pool& p) {
         pilfer::pool other(support::workers(1));
         std::atomic<int> ran{0};
         with_scope(p, [&](scope& s) { other.run([&] { s.fork([&] { ran.fetch_add(1); }); }); });
         EXPECT_EQ(ran, 1);
     },
     accepted},
    {"fork_by_a_child",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn([&] { s.fork([] {}); }); }); }, accepted},
    {"sync_twice",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             s.spawn([] {});
             s.sync();
             s.sync();
         });
     },
     accepted},
    {"spawn_after_sync",
     [](pilfer::pool& p) {
         int n = 0;
         with_scope(p, [&](scope& s) {
             s.sync();
             s.spawn([&] { ++n; });
             s.sync();
             s.fork([&] { ++n; });
         });
         EXPECT_EQ(n, 2);
     },
     accepted},
    {"sync_after_an_exception_was_rethrown",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             s.spawn([] { throw spoiled(); });
             EXPECT_THROW(s.sync(), spoiled);
         });
     },
     accepted},
    {"fork_after_a_failure",
     [](pilfer::pool&) {
         pilfer::pool other(support::workers(1));
         bool ran = false;
         EXPECT_THROW(with_scope(other,
                                 [&](scope& s) {
                                     s.spawn([] { throw spoiled(); });
                                     s.fork([&] { ran = true; });
                                 }),
                      spoiled);
         EXPECT_FALSE(ran);
         EXPECT_EQ(other.counters().dropped, 1U);
     },
     accepted},
    {"spawn_of_an_empty_function",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn(std::function<void()>()); }); }, empty_call,
     ""},
    {"fork_of_an_empty_function",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.fork(std::function<void()>()); }); }, empty_call,
     ""},
    {"spawn_outside_of_an_empty_function",
     [](pilfer::pool&) {
         scope s;
         s.spawn(std::function<void()>());
         s.sync();
     },
     empty_call, ""},
    {"spawn_of_what_spoils_its_copy",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             const spoils_copy f;
             s.spawn(f);
         });
     },
     own, "spoiled"},
    {"spawn_of_what_spoils_its_move",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn(spoils_move()); }); }, own, "spoiled"},
    {"fork_of_what_spoils_its_copy",
     [](pilfer::pool& p) {
         with_scope(p, [](scope& s) {
             const spoils_copy f;
             s.fork(f);
         });
     },
     own, "spoiled"},
    {"fork_of_what_spoils_its_move",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.fork(spoils_move()); }); }, own, "spoiled"},
    {"fork_by_a_child_of_what_spoils_its_move",
     [](pilfer::pool& p) { with_scope(p, [](scope& s) { s.spawn([&] { s.fork(spoils_move()); }); }); }, own,
     "spoiled"},
    {"spawn_outside_of_what_spoils_its_move",
     [](pilfer::pool&) {
         scope s;
         s.spawn(spoils_move());
     },
     own, "spoiled"},
    {"fork_outside_of_what_spoils_its_copy",
     [](pilfer::pool&) {
         scope s;
         const spoils_copy f;
         s.fork(f);
     },
     own, "spoiled"},
};

using pilfer::for_each;
using pilfer::join;
using pilfer::reduce;

constexpr auto nothing = [](auto&&) {};
constexpr auto never = [](auto i) { ADD_FAILURE() << "called for " << i; };
constexpr auto itself = [](auto i) { return static_cast<long>(i); };
constexpr auto spoil = [](auto) { throw spoiled(); };

const row loops[] = {
    {"join_of_an_empty_first",
     [](pilfer::pool& p) { p.run([] { (void)join(std::function<void()>(), [] {}); }); }, empty_call, ""},
    {"join_of_an_empty_last",
     [](pilfer::pool& p) { p.run([] { (void)join([] {}, [] {}, std::function<void()>()); }); }, empty_call,
     ""},
    {"join_of_two_empty",
     [](pilfer::pool& p) {
         p.run([] {
             const std::function<void()> f;
             (void)join(f, f);
         });
     },
     empty_call, ""},
    {"join_outside_of_what_spoils_its_move", [](pilfer::pool&) { (void)join(spoils_move(), [] {}); }, own,
     "spoiled"},
    {"join_inside_moves_nothing",
     [](pilfer::pool& p) { p.run([] { (void)join(spoils_move(), spoils_copy()); }); }, accepted},
    {"join_where_both_throw",
     [](pilfer::pool& p) { p.run([] { (void)join([] { throw spoiled(); }, [] { throw spoiled(); }); }); },
     own, "spoiled"},
    {"loop_over_nothing", [](pilfer::pool& p) { p.run([] { for_each(7, 7, never); }); }, accepted},
    {"loop_backwards", [](pilfer::pool& p) { p.run([] { for_each(7, -7, never); }); }, accepted},
    {"loop_backwards_outside", [](pilfer::pool&) { for_each(7, -7, never); }, accepted},
    {"loop_backwards_over_everything",
     [](pilfer::pool& p) { p.run([] { for_each(INT64_MAX, INT64_MIN, never); }); }, accepted},
    {"loop_over_a_wrapped_unsigned", [](pilfer::pool& p) { p.run([] { for_each(3U, 3U - 4U, spoil); }); },
     own, "spoiled"},
    {"loop_over_all_of_int64", [](pilfer::pool& p) { p.run([] { for_each(INT64_MIN, INT64_MAX, spoil); }); },
     own, "spoiled"},
    {"loop_over_all_of_uint64",
     [](pilfer::pool& p) { p.run([] { for_each(std::uint64_t{0}, UINT64_MAX, spoil); }); }, own, "spoiled"},
    {"loop_over_the_end_of_int64",
     [](pilfer::pool& p) {
         std::atomic<int> n{0};
         p.run([&] { for_each(INT64_MAX - 3, INT64_MAX, [&](std::int64_t) { n.fetch_add(1); }); });
         EXPECT_EQ(n, 3);
     },
     accepted},
    {"loop_over_all_of_a_byte",
     [](pilfer::pool& p) {
         std::atomic<int> sum{0};
         p.run([&] {
             for_each(std::int8_t{-128}, std::int8_t{127}, [&](std::int8_t i) { sum.fetch_add(i); });
         });
         EXPECT_EQ(sum, -255);
     },
     accepted},
    {"loop_over_null_pointers",
     [](pilfer::pool& p) {
         p.run([] {
             int* none = nullptr;
             for_each(none, none, nothing);
         });
     },
     accepted},
    {"loop_over_an_array_backwards",
     [](pilfer::pool& p) {
         p.run([] {
             int a[4] = {};
             for_each(a + 4, a, nothing);
         });
     },
     accepted},
    {"loop_with_an_empty_body",
     [](pilfer::pool& p) { p.run([] { for_each(0, 5, std::function<void(int)>()); }); }, empty_call, ""},
    {"loop_over_nothing_with_an_empty_body",
     [](pilfer::pool& p) { p.run([] { for_each(0, 0, std::function<void(int)>()); }); }, accepted},
    {"loop_outside_with_an_empty_body", [](pilfer::pool&) { for_each(0, 5, std::function<void(int)>()); },
     empty_call, ""},
    {"reduce_backwards",
     [](pilfer::pool& p) { EXPECT_EQ(p.run([] { return reduce(9, 1, 5L, itself, std::plus<>()); }), 5); },
     accepted},
    {"reduce_backwards_outside",
     [](pilfer::pool&) { EXPECT_EQ(reduce(INT_MAX, INT_MIN, 5L, itself, std::plus<>()), 5); }, accepted},
    {"reduce_over_null_pointers",
     [](pilfer::pool& p) {
         EXPECT_EQ(p.run([] {
             const int* none = nullptr;
             return reduce(none, none, 6L, itself, std::plus<>());
         }),
                   6);
     },
     accepted},
    {"reduce_with_an_empty_map",
     [](pilfer::pool& p) {
         (void)p.run([] { return reduce(0, 5, 0L, std::function<long(int)>(), std::plus<>()); });
     },
     empty_call, ""},
    {"reduce_with_an_empty_combine",
     [](pilfer::pool& p) {
         (void)p.run([] { return reduce(0, 5, 0L, itself, std::function<long(long, long)>()); });
     },
     empty_call, ""},
    {"reduce_over_all_of_int64",
     [](pilfer::pool& p) {
         (void)p.run([] {
             return reduce(
                 INT64_MIN, INT64_MAX, 0L, [](std::int64_t) -> long { throw spoiled(); }, std::plus<>());
         });
     },
     own, "spoiled"},
    {"reduce_whose_combine_throws",
     [](pilfer::pool& p) {
         (void)p.run([] { return reduce(0, 100, 0L, itself, [](long, long) -> long { throw spoiled(); }); });
     },
     own, "spoiled"},
    {"reduce_over_the_end_of_uint64",
     [](pilfer::pool& p) {
         EXPECT_EQ(p.run([] {
             return reduce(
                 UINT64_MAX - 2, UINT64_MAX, 0L, [](std::uint64_t) { return 1L; }, std::plus<>());
         }),
                   2);
     },
     accepted},
};

class bad_input_scope : public rows {};
TEST_P(bad_input_scope, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_scope, testing::ValuesIn(scopes), row_name());

class bad_input_cancellation : public rows {};
TEST_P(bad_input_cancellation, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_cancellation, testing::ValuesIn(cancellations), row_name());

class bad_input_loop : public rows {};
TEST_P(bad_input_loop, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_loop, testing::ValuesIn(loops), row_name());

} // namespace
