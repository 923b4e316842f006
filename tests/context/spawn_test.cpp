// The kinds of function that can be spawned, and the properties of their stacks.
#include <execinfo.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "context/moved.hpp"

namespace {

class spawned : public moved::with_pool {
protected:
    [[nodiscard]] static pilfer::options one_worker() {
        pilfer::options o;
        o.workers = 1;
        return o;
    }
};

/// A frame that the compiler fills with aligned stores, at any place of its choice.
[[nodiscard]] PILFER_NOINLINE bool aligned_frame() {
    alignas(16) char local[16];
    const char* at = local;
#if defined(__x86_64__)
    asm volatile("movaps %%xmm0, (%0)" : : "r"(at) : "memory"); // faults on any other address
#endif
    asm volatile("" : "+r"(at));
    return reinterpret_cast<std::uintptr_t>(at) % 16 == 0;
}

TEST_P(spawned, runs_on_aligned_stacks_of_every_colour) {
    pilfer::pool pool(options());
    std::atomic<int> wrong{0};
    pool.run([&] {
        pilfer::scope s;
        moved::gate gate;
        // Children that wait keep their stacks, so that each next one gets another colour.
        for (int i = 0; i < 40; ++i) {
            s.spawn([&] {
                wrong += aligned_frame() ? 0 : 1;
                pilfer::join([&] { wrong += aligned_frame() ? 0 : 1; },
                             [&] { wrong += aligned_frame() ? 0 : 1; });
                gate.wait();
                wrong += aligned_frame() ? 0 : 1;
            });
            s.fork([&] { wrong += aligned_frame() ? 0 : 1; });
        }
        wrong += aligned_frame() ? 0 : 1;
        gate.open();
        s.sync();
    });
    EXPECT_EQ(wrong.load(), 0);
}

template <std::size_t Bytes, std::size_t Align>
struct payload {
    alignas(Align) std::array<std::uint8_t, Bytes> bytes;
    [[nodiscard]] static payload filled(std::uint8_t with) {
        payload p;
        p.bytes.fill(with);
        return p;
    }
    [[nodiscard]] bool intact(std::uint8_t with) const {
        bool same = reinterpret_cast<std::uintptr_t>(this) % Align == 0;
        for (const auto b : bytes) {
            same = same && b == with;
        }
        return same;
    }
};

template <std::size_t Bytes, std::size_t Align>
[[nodiscard]] int damaged(pilfer::pool& pool) {
    std::atomic<int> wrong{0};
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 20; ++i) {
            const auto with = static_cast<std::uint8_t>(i);
            const auto p = payload<Bytes, Align>::filled(with);
            s.spawn([p, with, &wrong] {
                wrong += p.intact(with) ? 0 : 1;
                // Others use stacks meanwhile.
                pilfer::scope inner;
                inner.spawn([&] { wrong += aligned_frame() ? 0 : 1; });
                inner.sync();
                wrong += p.intact(with) ? 0 : 1;
            });
            s.fork([p, with, &wrong] { wrong += p.intact(with) ? 0 : 1; });
            wrong += p.intact(with) ? 0 : 1;
        }
        s.sync();
    });
    return wrong.load();
}

TEST_P(spawned, functions_may_be_large_and_over_aligned) {
    pilfer::pool pool(options());
    EXPECT_EQ((damaged<1, 1>(pool)), 0);
    EXPECT_EQ((damaged<24, 16>(pool)), 0);
    EXPECT_EQ((damaged<96, 32>(pool)), 0);
    EXPECT_EQ((damaged<64, 64>(pool)), 0);
    EXPECT_EQ((damaged<1984, 64>(pool)), 0);
    EXPECT_EQ((damaged<2100, 8>(pool)), 0) << "larger than what is copied to a stack";
    EXPECT_EQ((damaged<256, 128>(pool)), 0) << "more aligned than a stack";
}

TEST_P(spawned, functions_may_be_movable_only) {
    pilfer::pool pool(options());
    int sum = 0;
    pool.run([&] {
        pilfer::scope s;
        int a = 0;
        int b = 0;
        s.spawn([&a, p = std::make_unique<int>(3)] { a = *p; });
        s.fork([&b, p = std::make_unique<int>(4)] { b = *p; });
        s.sync();
        sum = a + b;
    });
    EXPECT_EQ(sum, 7);
}

struct throws_when_moved {
    std::atomic<int>* alive;
    bool throws;
    std::atomic<int>* ran;
    throws_when_moved(std::atomic<int>* a, bool t, std::atomic<int>* r) : alive(a), throws(t), ran(r) {
        ++*alive;
    }
    throws_when_moved(throws_when_moved&& other) : alive(other.alive), throws(other.throws), ran(other.ran) {
        if (throws) {
            throw std::runtime_error("moved");
        }
        ++*alive;
    }
    ~throws_when_moved() { --*alive; }
    void operator()() const { ++*ran; }
};

TEST_P(spawned, an_exception_while_moving_the_function_leaves_the_scope_intact) {
    pilfer::pool pool(options());
    std::atomic<int> alive{0};
    std::atomic<int> ran{0};
    int caught = 0;
    pool.run([&] {
        pilfer::scope s;
        for (int i = 0; i < 100; ++i) {
            try {
                s.spawn(throws_when_moved(&alive, i % 2 == 0, &ran));
            } catch (const std::runtime_error&) {
                ++caught;
            }
            try {
                s.fork(throws_when_moved(&alive, i % 2 == 0, &ran));
            } catch (const std::runtime_error&) {
                ++caught;
            }
        }
        s.sync();
    });
    EXPECT_EQ(caught, 100);
    EXPECT_EQ(ran.load(), 100);
    EXPECT_EQ(alive.load(), 0);
    EXPECT_LE(pool.counters().contexts_live, 64U + 64U * GetParam().workers) << "stacks were lost";
}

/// Its move constructor is itself parallel: it waits, and may resume on another worker.
struct moves_in_parallel {
    moved::flag* stolen;
    std::vector<int> values;
    std::atomic<int>* sum;
    moves_in_parallel(moved::flag* f, std::atomic<int>* s) : stolen(f), values(100, 1), sum(s) {}
    moves_in_parallel(moves_in_parallel&& other) : stolen(other.stolen), sum(other.sum) {
        pilfer::join([&] { stolen->spin(); }, [&] { stolen->raise(); });
        values = std::move(other.values);
    }
    void operator()() const { *sum += std::accumulate(values.begin(), values.end(), 0); }
};

TEST_P(spawned, functions_may_be_moved_by_a_constructor_that_changes_the_worker) {
    if (GetParam().workers == 1) {
        return; // the second branch of that join has to run beside the first
    }
    pilfer::pool pool(options());
    std::atomic<int> sum{0};
    pool.run([&] {
        for (int i = 0; i < 50; ++i) {
            moved::flag a;
            pilfer::scope s;
            s.spawn(moves_in_parallel(&a, &sum));
            s.sync();
        }
    });
    EXPECT_EQ(sum.load(), 5'000);
}

/// Too large to be copied to a stack by itself; moving it waits for another pool.
struct moves_large_and_waits {
    pilfer::pool* other;
    std::atomic<int>* ran;
    std::array<char, 4096> bytes{};
    moves_large_and_waits(pilfer::pool* p, std::atomic<int>* r) : other(p), ran(r) {}
    moves_large_and_waits(moves_large_and_waits&& from) : other(from.other), ran(from.ran) {
        other->run([] { usleep(200); });
    }
    void operator()() const { ++*ran; }
};

TEST_P(spawned, large_functions_may_be_moved_by_a_constructor_that_suspends) {
    pilfer::pool other(one_worker());
    pilfer::pool pool(options());
    std::atomic<int> ran{0};
    std::vector<pilfer::future<void>> roots;
    for (int i = 0; i < 40; ++i) {
        // Several at once, so that a returning frame finds its former worker busy with another one.
        roots.push_back(pool.async([&] {
            pilfer::scope s;
            s.spawn(moves_large_and_waits(&other, &ran));
            s.spawn([&] { ++ran; });
            s.sync();
        }));
    }
    for (auto& r : roots) {
        r.get();
    }
    EXPECT_EQ(ran.load(), 80);
}

TEST_P(spawned, a_thousand_children_of_one_loop_may_wait_at_once) {
    pilfer::pool pool(options());
    constexpr int children = 1'000;
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    pool.run([&] {
        moved::gate gate;
        pilfer::scope s;
        for (int i = 0; i < children; ++i) {
            s.spawn([&] {
                ++begun;
                gate.wait();
                ++ended;
            });
        }
        // With one worker every child before this line has run up to its wait.
        if (GetParam().workers == 1) {
            EXPECT_EQ(begun.load(), children);
        }
        EXPECT_EQ(ended.load(), 0);
        gate.open();
        s.sync();
        EXPECT_EQ(ended.load(), children);
    });
    EXPECT_GE(pool.counters().contexts_peak, static_cast<std::uint64_t>(children));
}

[[nodiscard]] PILFER_NOINLINE int walk() {
    std::array<void*, 256> frames{};
    return backtrace(frames.data(), static_cast<int>(frames.size()));
}

[[nodiscard]] PILFER_NOINLINE int spawn_nested(int depth) {
    if (depth == 0) {
        return walk();
    }
    int frames = 0;
    pilfer::scope s;
    s.spawn([&frames, depth] { frames = spawn_nested(depth - 1); });
    s.sync();
    return frames;
}

TEST_P(spawned, stacks_end_for_unwinders) {
    pilfer::pool pool(options());
    pool.run([] {
        // Each child has a stack of its own: the walk does not see the frames below it.
        EXPECT_GE(walk(), 2);
        EXPECT_LT(walk(), 60);
        EXPECT_GE(spawn_nested(3), 2);
        EXPECT_LT(spawn_nested(3), 60);
        pilfer::join([] { EXPECT_LT(walk(), 60); }, [] { EXPECT_LT(walk(), 60); });
        pilfer::scope s;
        moved::gate gate;
        for (int i = 0; i < 10; ++i) {
            s.fork([&] {
                EXPECT_LT(walk(), 60);
                gate.wait();
                EXPECT_LT(walk(), 60);
            });
        }
        s.spawn([&] { gate.open(); });
        s.sync();
        EXPECT_LT(walk(), 60);
    });
}

TEST(own_thread, a_waiting_frame_resumes_on_its_thread) {
    pilfer::options o;
    o.workers = 4;
    o.resume = pilfer::resume::own_thread;
    pilfer::pool pool(o);
    int strangers = 0;
    pool.run([&] {
        for (int i = 0; i < 50; ++i) {
            moved::flag stolen;
            const pthread_t before = pthread_self();
            // The second branch runs on another worker and outlives the first, so this frame suspends.
            pilfer::join([&] { stolen.spin(); },
                         [&] {
                             stolen.raise();
                             usleep(500);
                         });
            strangers += pthread_equal(before, pthread_self()) != 0 ? 0 : 1;
        }
    });
    EXPECT_EQ(strangers, 0);
    EXPECT_GE(pool.counters().suspends, 1U);
}

INSTANTIATE_TEST_SUITE_P(all, spawned, testing::ValuesIn(moved::settings), moved::name_of);

} // namespace
