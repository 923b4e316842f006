// A look that finds nothing is noted in the node of the task: what makes the note void.
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>

#include <pilfer/cancel.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/scope.hpp>

#include "support/harness.hpp"

namespace {

/// While it lives, some scope of the process is cancelled, so that every task looks.
class unrelated {
public:
    unrelated() : m_holder([this] { hold(); }) {
        while (!m_held) {
            std::this_thread::yield();
        }
    }
    unrelated(const unrelated&) = delete;
    unrelated& operator=(const unrelated&) = delete;
    ~unrelated() {
        m_ends = true;
        m_holder.join();
    }

private:
    void hold() {
        pilfer::scope s;
        s.cancel();
        m_held = true;
        while (!m_ends) {
            std::this_thread::yield();
        }
    }
    std::atomic<bool> m_held{false};
    std::atomic<bool> m_ends{false};
    std::thread m_holder;
};

template <class F>
void below_scopes(unsigned depth, const F& f) {
    pilfer::scope here;
    if (depth == 0) {
        f();
    } else {
        below_scopes(depth - 1, f);
    }
}

TEST(noted_looks, a_later_cancellation_is_seen) {
    const unrelated other;
    pilfer::pool pool({.workers = 1});
    pool.run([] {
        pilfer::scope outer;
        outer.fork([&outer] {
            below_scopes(50, [&outer] {
                EXPECT_FALSE(pilfer::cancelled());
                EXPECT_FALSE(pilfer::cancelled());
                outer.cancel();
                EXPECT_TRUE(pilfer::cancelled());
            });
        });
        outer.sync();
        EXPECT_FALSE(pilfer::cancelled());
    });
}

TEST(noted_looks, the_end_of_a_lock_is_seen) {
    const unrelated other;
    pilfer::pool pool({.workers = 1});
    pool.run([] {
        pilfer::scope outer;
        outer.fork([&outer] {
            pilfer::mutex m;
            std::optional<pilfer::scope> inner;
            m.lock();
            inner.emplace();
            outer.cancel();
            EXPECT_FALSE(pilfer::cancelled());
            EXPECT_FALSE(pilfer::cancelled());
            m.unlock();
            EXPECT_TRUE(pilfer::cancelled());
        });
        outer.sync();
    });
}

TEST(noted_looks, a_scope_at_the_address_of_another_one_has_no_note) {
    const unrelated other;
    pilfer::pool pool({.workers = 1});
    pool.run([] {
        alignas(pilfer::scope) std::array<std::byte, sizeof(pilfer::scope)> memory;
        const auto asks_there = [&memory] {
            auto* const s = new (memory.data()) pilfer::scope;
            const bool is = pilfer::cancelled();
            std::destroy_at(s);
            return is;
        };
        pilfer::scope left;
        pilfer::scope right;
        right.cancel();
        left.fork([&] { EXPECT_FALSE(asks_there()); });
        left.sync();
        right.sync();
        right.fork([&] {
            right.cancel();
            EXPECT_TRUE(asks_there());
        });
        right.sync();
        left.fork([&] { EXPECT_FALSE(asks_there()); });
        left.sync();
    });
}

} // namespace
