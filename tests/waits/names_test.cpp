// pilfer::object_name: the names of awaited objects in dumps, traces and profiles, and wrong names.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <pilfer/trace.hpp>

#include "waits/waits.hpp"

namespace {

using namespace waits;
using pilfer::object_name;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class object_names : public guarded {};

/// The dump of a pool in which a task waits in `wait`. `end` lets it go on.
template <class Wait, class End>
[[nodiscard]] std::string dump_during(Wait wait, End end, pilfer::options o = workers(2)) {
    pilfer::pool p(o);
    auto task = p.async(wait);
    while (suspended(p) == 0) {
        std::this_thread::sleep_for(100us);
    }
    std::ostringstream out;
    p.dump(out);
    end();
    task.get();
    return out.str();
}

[[nodiscard]] std::string dump_of_wait(pilfer::event& e) {
    return dump_during([&e] { e.wait(); }, [&e] { e.set(); });
}

TEST_F(object_names, are_shown_with_the_address_while_they_live) {
    pilfer::event e;
    {
        const object_name name(e, "the end");
        EXPECT_THAT(dump_of_wait(e), ContainsRegex(R"(waits for an event \("the end", 0x[0-9a-f]+\))"));
    }
    e.reset();
    EXPECT_THAT(dump_of_wait(e), ContainsRegex(R"(waits for an event \(0x[0-9a-f]+\))"));
}

TEST_F(object_names, are_those_of_every_kind_of_object) {
    const auto expect = [](const std::string& dump, const std::string& what) {
        EXPECT_THAT(dump, HasSubstr("waits for " + what + " (\"it\", 0x"));
    };
    pilfer::mutex m;
    m.lock();
    const object_name a(m, "it");
    expect(dump_during([&] { const std::lock_guard hold(m); }, [&] { m.unlock(); }), "a mutex");
    pilfer::shared_mutex s;
    s.lock();
    const object_name b(s, "it");
    expect(dump_during(
               [&] {
                   s.lock_shared();
                   s.unlock_shared();
               },
               [&] { s.unlock(); }),
           "a shared mutex, with others");
    pilfer::condition_variable v;
    const object_name c(v, "it");
    bool set = false;
    expect(dump_during(
               [&] {
                   std::unique_lock hold(m);
                   v.wait(hold, [&] { return set; });
               },
               [&] {
                   const std::lock_guard hold(m);
                   set = true;
                   v.notify_one();
               }),
           "a condition variable");
    pilfer::counting_semaphore<> n(0);
    const object_name d(n, "it");
    expect(dump_during([&] { n.acquire(); }, [&] { n.release(); }), "a semaphore");
    pilfer::latch l(1);
    const object_name e(l, "it");
    expect(dump_during([&] { l.wait(); }, [&] { l.count_down(); }), "a latch");
    pilfer::barrier<> r(2);
    const object_name f(r, "it");
    expect(dump_during([&] { r.arrive_and_wait(); }, [&] { (void)r.arrive(); }), "a barrier");
    pilfer::channel<int> q(1);
    const object_name g(q, "it");
    expect(dump_during([&] { (void)q.receive(); }, [&] { q.close(); }), "a channel's next value");
    pilfer::monitor<int> o(0);
    const object_name h(o, "it");
    expect(dump_during([&] { o.call_when([](int i) { return i != 0; }, [](int&) {}); },
                       [&] { o.call([](int& i) { i = 1; }); }),
           "the condition of a monitor call");
    pilfer::synchronized<int> y(0);
    const object_name k(y, "it");
    pilfer::latch inside(1);
    pilfer::latch done(1);
    std::thread holder([&] {
        y.call([&](int&) {
            inside.count_down();
            done.wait();
        });
    });
    inside.wait();
    expect(dump_during([&] { y.call([](int&) {}); }, [&] { done.count_down(); }), "a mutex");
    holder.join();
}

TEST_F(object_names, of_two_for_one_object_the_newer_is_shown) {
    pilfer::event e;
    object_name older(e, "older");
    std::optional<object_name> newer(std::in_place, e, std::string("newer"));
    EXPECT_THAT(dump_of_wait(e), HasSubstr("(\"newer\", "));
    newer.reset();
    e.reset();
    EXPECT_THAT(dump_of_wait(e), HasSubstr("(\"older\", "));
    older = object_name();
    e.reset();
    EXPECT_THAT(dump_of_wait(e), Not(HasSubstr("older")));
}

TEST_F(object_names, of_a_structure_are_those_of_its_members_without_one) {
    struct account {
        pilfer::event opened;
        pilfer::event closed;
    };
    std::vector<account> all(3);
    const object_name whole(all[1], "account 1");
    const object_name part(all[1].opened, "opening of account 1");
    EXPECT_THAT(dump_of_wait(all[1].opened), HasSubstr("(\"opening of account 1\", "));
    EXPECT_THAT(dump_of_wait(all[1].closed), HasSubstr("(\"account 1\", "));
    EXPECT_THAT(dump_of_wait(all[0].closed), Not(HasSubstr("account")));
    EXPECT_THAT(dump_of_wait(all[2].opened), Not(HasSubstr("account")));
}

TEST_F(object_names, move_with_their_handles) {
    pilfer::event e;
    std::vector<object_name> handles;
    for (int i = 0; i < 20; ++i) { // the vector grows
        handles.emplace_back(e, "name " + std::to_string(i));
    }
    std::swap(handles.front(), handles.back());
    handles.erase(handles.begin()); // name 19
    EXPECT_THAT(dump_of_wait(e), HasSubstr("(\"name 18\", "));
}

TEST_F(object_names, are_not_inherited_by_an_object_at_the_same_address) {
    struct named_event {
        pilfer::event e;
        object_name name{e, "first"};
    };
    alignas(named_event) std::byte memory[sizeof(named_event)];
    auto* const first = new (memory) named_event;
    EXPECT_THAT(dump_of_wait(first->e), HasSubstr("(\"first\", "));
    first->~named_event();
    auto* const second = new (memory) pilfer::event;
    EXPECT_THAT(dump_of_wait(*second), Not(HasSubstr("first")));
    second->~event();
}

TEST_F(object_names, that_are_wrong_are_refused) {
    pilfer::event e;
    const char* const null = nullptr;
    EXPECT_THROW(object_name(e, null), std::invalid_argument);
    EXPECT_THROW(object_name(e, ""), std::invalid_argument);
    EXPECT_THROW(object_name(e, std::string(256, 'x')), std::invalid_argument);
    EXPECT_THROW(object_name(e, "two\nlines"), std::invalid_argument);
    EXPECT_THROW(object_name(e, std::string_view("a\0b", 3)), std::invalid_argument);
    EXPECT_THAT(dump_of_wait(e), ContainsRegex(R"(waits for an event \(0x)"));
    static_assert(!std::is_constructible_v<object_name, pilfer::event, const char*>, "it would end at once");
    static_assert(!std::is_constructible_v<object_name, pilfer::future<int>&, const char*>);
    static_assert(!std::is_copy_constructible_v<object_name>);
}

TEST_F(object_names, of_any_length_and_any_bytes_are_shown) {
    pilfer::event e;
    const std::string longest(255, 'n');
    object_name name(e, longest);
    EXPECT_THAT(dump_of_wait(e), HasSubstr("(\"" + longest + "\", "));
    name = object_name(e, "no UTF-8: \xff");
    e.reset();
    EXPECT_THAT(dump_of_wait(e), HasSubstr("(\"no UTF-8: \xff\", "));
}

TEST_F(object_names, are_in_the_trace_of_a_wait_that_is_over) {
    pilfer::options o = workers(2);
    o.debug.trace_events = 1024;
    pilfer::pool p(o);
    for (const char* called : {"a \"quoted\" name", "no UTF-8: \xff", ""}) {
        pilfer::event e;
        std::optional<object_name> name;
        if (*called != '\0') {
            name.emplace(e, called);
        }
        const std::uint64_t before = suspended(p);
        auto task = p.async([&e] { e.wait(); });
        while (suspended(p) == before) {
            std::this_thread::sleep_for(100us);
        }
        e.set();
        task.get();
    }
    std::ostringstream out;
    pilfer::write_trace(p, out);
    EXPECT_THAT(out.str(), HasSubstr(R"(,"object_name":"a \"quoted\" name")"));
    EXPECT_THAT(out.str(), HasSubstr(R"(,"object_name":"no UTF-8: \ufffd")"));
    EXPECT_THAT(out.str(), ContainsRegex(R"("for":"an event","object":[0-9]+,"context":[0-9]+[,}])"));
}

/// A program may name an object for each request and record for days.
TEST_F(object_names, that_are_too_many_for_a_trace_are_left_out) {
    pilfer::options o = workers(1);
    o.debug.trace_events = 1U << 16;
    pilfer::pool p(o);
    p.run([] {
        for (int i = 0; i < 12'000; ++i) {
            pilfer::event e;
            const object_name name(e, "request " + std::to_string(i));
            pilfer::scope ends;
            ends.fork([&e] { e.set(); });
            e.wait();
            ends.sync();
        }
    });
    std::ostringstream out;
    pilfer::write_trace(p, out);
    const std::string text = out.str();
    std::size_t named = 0;
    constexpr std::string_view wanted = R"("object_name":"request )";
    for (auto at = text.find(wanted); at != text.npos; at = text.find(wanted, at + 1)) {
        ++named;
    }
    EXPECT_GT(named, 0U);
    EXPECT_LE(named, 10'000U);
}

TEST_F(object_names, can_be_given_after_fork) {
    pilfer::event e;
    const object_name before(e, "before");
    const auto result = in_child([&e] {
        const object_name after(e, "after");
        const std::string first = dump_of_wait(e);
        return first.find("(\"after\", ") != std::string::npos ? 0 : 1;
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

/// No pool has prepared the process for fork().
TEST_F(object_names, can_be_given_after_fork_in_a_program_without_a_pool) {
    std::atomic<bool> ends{false};
    std::thread other([&ends] {
        const pilfer::event mine;
        while (!ends) {
            const object_name a(mine, "a");
        }
    });
    for (int i = 0; i < 40 && !HasFailure(); ++i) {
        const auto result = in_child([] {
            const pilfer::event e;
            const object_name after(e, "after");
            return 0;
        });
        EXPECT_TRUE(result.exited_with(0)) << result;
    }
    ends = true;
    other.join();
}

TEST_F(object_names, of_many_threads) {
    std::vector<std::thread> threads;
    pilfer::event shown;
    const object_name name(shown, "shown");
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([] {
            pilfer::event mine;
            for (int i = 0; i < 2'000; ++i) {
                const object_name a(mine, "a");
                const object_name b(mine, "b");
            }
        });
    }
    for (int i = 0; i < 10; ++i) {
        shown.reset();
        EXPECT_THAT(dump_of_wait(shown), HasSubstr("(\"shown\", "));
    }
    for (std::thread& t : threads) {
        t.join();
    }
}

} // namespace
