// fork() in a task or a thread while another thread holds a lock of the library. The child waits for none of
// them.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <latch>
#include <optional>

#include <pilfer/pilfer.h>

#include "cancel/cancellation.hpp"
#include "life/life.hpp"
#include "pool/pool_core.hpp"
#include "support/process.hpp"

namespace {

using life::checks;
using life::workers;
using support::in_child;

/// The children of these tests start no threads.
class process_fork_under_locks : public ::testing::Test {
    support::watchdog m_end{120};
};

/// Another thread holds the lock of the only heap of a pool with one worker.
class heap_holder {
public:
    explicit heap_holder(pilfer::pool& p) {
        m_alarm.fire = [](pilfer::detail::alarm& a) noexcept { a.over(); };
        pilfer::detail::arm(p.core(), m_alarm, pilfer::detail::after(std::chrono::hours(1)));
        m_holder = std::thread([this] {
            bool first = true;
            (void)m_alarm.home->take_if([this, &first](auto& any) {
                if (std::exchange(first, false)) {
                    m_held.count_down();
                    m_release.wait();
                }
                return &any == &m_alarm; // it is fired by hand
            });
            m_alarm.over();
        });
        m_held.wait();
    }
    heap_holder(const heap_holder&) = delete;
    heap_holder& operator=(const heap_holder&) = delete;
    ~heap_holder() {
        m_release.count_down();
        m_holder.join();
    }

private:
    pilfer::detail::alarm m_alarm;
    std::latch m_held{1};
    std::latch m_release{1};
    std::thread m_holder;
};

TEST_F(process_fork_under_locks, a_timer_is_cancelled) {
    pilfer::pool p(workers(1));
    ASSERT_EQ(p.core().schedulers(), 1U);
    const auto held = std::make_shared<int>(0);
    auto once = pilfer::after(p, std::chrono::hours(1), [held] {});
    auto often = pilfer::every(p, std::chrono::hours(1), [held] {});
    {
        const heap_holder other(p);
        const auto r = in_child([&] {
            checks c;
            c.that(once.cancel() && once.over() && !once.cancel());
            c.that(often.cancel() && often.over());
            c.that(held.use_count() == 1); // the functions have ended
            once = pilfer::timer();
            return c.first_failed();
        });
        EXPECT_TRUE(r.exited_with(0)) << r;
    }
    EXPECT_TRUE(once.cancel() && often.cancel()) << "the parent's go on";
}

TEST_F(process_fork_under_locks, a_deadline_ends_and_a_wait_with_a_time_limit_gets_the_message) {
    pilfer::pool p(workers(1));
    support::child_result ends;
    support::child_result waits;
    p.run([&] {
        pilfer::scope s;
        std::optional<pilfer::deadline> limit(std::in_place, s, std::chrono::hours(1));
        const heap_holder other(p);
        ends = in_child([&] {
            limit.reset();
            return 0;
        });
        waits = in_child([] {
            pilfer::event never;
            (void)never.wait_for(std::chrono::milliseconds(1));
            return 0;
        });
    });
    EXPECT_TRUE(ends.exited_with(0)) << ends;
    EXPECT_TRUE(waits.killed_by(SIGABRT) && waits.said("that task has ended or has to wait")) << waits;
}

/// The child returns from a function that would run again.
TEST_F(process_fork_under_locks, a_repeated_function_that_returns_in_the_child_gets_the_message) {
    const auto returns = [](auto start) {
        return in_child([start] {
            pilfer::pool p(workers(1));
            int status = 0;
            pilfer::event ended;
            std::optional<heap_holder> other; // the child does not join its thread
            const auto f = [&] {
                other.emplace(p);
                const pid_t child = fork();
                if (child != 0) {
                    waitpid(child, &status, 0);
                    other.reset();
                    ended.set();
                } else {
                    support::unblock_alarms();
                    alarm(10);
                }
                return child == 0;
            };
            start(p, f);
            ended.wait();
            if (WIFSIGNALED(status)) {
                raise(WTERMSIG(status));
            }
            return 0;
        });
    };
    const auto by_timer =
        returns([](pilfer::pool& p, auto f) { (void)pilfer::every(p, std::chrono::milliseconds(1), f); });
    EXPECT_TRUE(by_timer.killed_by(SIGABRT) && by_timer.said("that task has ended")) << by_timer;
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    ASSERT_EQ(write(ends[1], "x", 1), 1);
    const auto by_subscription = returns(
        [fd = ends[0]](pilfer::pool& p, auto f) { (void)pilfer::on(p, pilfer::io::readable(fd), f); });
    EXPECT_TRUE(by_subscription.killed_by(SIGABRT) && by_subscription.said("that task has ended"))
        << by_subscription;
    close(ends[0]);
    close(ends[1]);
}

TEST_F(process_fork_under_locks, subscriptions_are_cancelled) {
    pilfer::pool p(workers(1));
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
    pilfer::event e;
    pilfer::event left;
    pilfer::channel<int> values(1);
    std::atomic<int> runs{0};
    const auto held = std::make_shared<int>(0);
    auto readable = pilfer::on(p, pilfer::io::readable(ends[0]), [held] {});
    auto set = pilfer::on(p, e, [held] {});
    auto received = pilfer::on(p, values, [held](int) {});
    auto stays = pilfer::on(p, left, [&runs] { ++runs; });
    const auto r = in_child([&] {
        checks c;
        for (pilfer::subscription* const s : {&readable, &set, &received}) {
            c.that(s->cancel() && s->over() && !s->cancel());
            *s = pilfer::subscription();
        }
        c.that(held.use_count() == 1);
        e.set();
        c.that(values.try_send(1) && values.try_receive() == 1);
        left.set(); // no worker would run the function
        c.that(stays.cancel() && stays.over());
        return c.first_failed();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
    left.set();
    EXPECT_TRUE(support::eventually([&runs] { return runs == 1; })) << "the parent's go on";
    for (pilfer::subscription* const s : {&readable, &set, &received, &stays}) {
        EXPECT_TRUE(s->cancel());
    }
    close(ends[0]);
    close(ends[1]);
}

/// Waits in a list of its own.
class own_reaction final : public pilfer::detail::reaction {
public:
    pilfer::detail::waiters entries;
    std::atomic<bool> stays_in_list_call{false};
    std::latch in_list_call{1};
    std::latch leaves_list_call{1};

private:
    found enter(pilfer::detail::waiters::entry& e, bool) override {
        entries.lock();
        entries.add(e);
        entries.unlock();
        return found::waits;
    }
    pilfer::detail::waiters& list() noexcept override {
        if (stays_in_list_call) {
            in_list_call.count_down();
            leaves_list_call.wait();
        }
        return entries;
    }
    bool take(pilfer::detail::waiters::entry&) noexcept override { return true; }
    bool execute() override { return true; }
    void end_function() noexcept override {}
};

TEST_F(process_fork_under_locks, a_subscription_is_cancelled_whose_object_is_locked) {
    pilfer::pool p(workers(1));
    auto* const r = new own_reaction;
    pilfer::subscription s = pilfer::detail::started(p.core(), r);
    r->entries.lock();
    const auto child = in_child([&s] {
        checks c;
        c.that(s.cancel() && s.over());
        s = pilfer::subscription(); // the list still refers to it
        return c.first_failed();
    });
    r->entries.unlock();
    EXPECT_TRUE(child.exited_with(0)) << child;
    EXPECT_TRUE(s.cancel());
}

TEST_F(process_fork_under_locks, a_subscription_is_cancelled_while_the_end_of_its_pool_looks_at_others) {
    auto p = std::make_unique<pilfer::pool>(workers(1));
    pilfer::event e;
    pilfer::subscription s = pilfer::on(*p, e, [] {});
    auto* const last = new own_reaction; // the pool's end looks at it first
    const pilfer::subscription looked_at = pilfer::detail::started(p->core(), last);
    last->stays_in_list_call = true;
    std::thread other([&p] { p.reset(); });
    last->in_list_call.wait(); // with the lock of the pool's list
    const auto child = in_child([&s] { return s.cancel() && s.over() ? 0 : 1; });
    last->leaves_list_call.count_down();
    other.join();
    EXPECT_TRUE(child.exited_with(0)) << child;
    EXPECT_TRUE(s.over() && looked_at.over());
}

/// As for a stop_on_cancel of a task that has moved to another worker since.
TEST_F(process_fork_under_locks, the_waits_at_other_workers_are_free) {
    using list_type = decltype(pilfer::detail::cancel_seat::stoppable);
    struct listed : list_type::waiter {
        std::latch is_stopped{1};
        std::latch goes_on{1};
    };
    pilfer::pool p(workers(2));
    support::child_result r;
    p.run([&p, &r] {
        pilfer::scope s;
        s.spawn([&] {
            const auto& here = *static_cast<pilfer::detail::scheduler*>(pilfer::detail::this_worker());
            list_type& there = p.core().at(1 - here.index).cancel->stoppable;
            listed wait;
            wait.node = pilfer::detail::this_activation()->node.load();
            wait.stop = [](list_type::waiter& self) noexcept { // under the lock of the list
                static_cast<listed&>(self).is_stopped.count_down();
                static_cast<listed&>(self).goes_on.wait();
            };
            there.add(wait);
            std::thread canceller([&s] { s.cancel(); });
            wait.is_stopped.wait();
            r = in_child([&there] {
                list_type::waiter mine;
                there.add(mine);
                there.remove(mine);
                return 0;
            });
            wait.goes_on.count_down();
            canceller.join();
            there.remove(wait);
        });
        s.sync();
    });
    EXPECT_TRUE(r.exited_with(0)) << r;
}

} // namespace
