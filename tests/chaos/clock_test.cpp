// Clocks that jump by years, stop, run backwards and wrap: no thread waits for ever, no result is wrong.
#include <gtest/gtest.h>

#include <vector>

#include <pilfer/detail/scope/range.hpp>

#include "platform/clock.hpp"
#include "platform/os.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

using namespace support;
namespace os = pilfer::os;
namespace detail = pilfer::detail;

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t ten_years = 10 * 365 * 86'400 * second;

/// Readings since the clock was installed, and waits that used it.
std::atomic<std::uint64_t> readings{0};
std::atomic<std::uint64_t> waits{0};

[[nodiscard]] std::uint64_t reading() noexcept { return readings.fetch_add(1); }

/// Returns at once: by this clock the time has passed.
void no_wait(std::atomic<std::uint32_t>&, std::uint32_t, std::uint64_t) noexcept { waits.fetch_add(1); }

std::uint64_t stopped() noexcept {
    (void)reading();
    return 12'345;
}
/// Ten years further at every reading; passes the end of the numbers after 58 of them.
std::uint64_t leaping() noexcept { return reading() * ten_years; }
/// A microsecond back at every reading.
std::uint64_t backwards() noexcept { return ten_years - 1'000 * reading(); }
/// Wraps within moments.
std::uint64_t wrapping() noexcept { return 0 - std::uint64_t{20'000} + 1'000 * reading(); }
/// Goes on as usual, but steps back an hour now and then.
std::uint64_t stepping() noexcept {
    const std::uint64_t n = reading();
    return ten_years + 1'000 * n - (n % 7 == 6 ? 3'600 * second : 0);
}

struct named {
    const char* name;
    os::time_source source;
};
const named clocks[] = {
    {"stopped", {&stopped, &no_wait, &stopped}},       {"leaping", {&leaping, &no_wait, &leaping}},
    {"backwards", {&backwards, &no_wait, &backwards}}, {"wrapping", {&wrapping, &no_wait, &wrapping}},
    {"stepping", {&stepping, &no_wait, &stepping}},
};

/// Puts a clock in for its life.
class by_clock {
public:
    explicit by_clock(const os::time_source& s) {
        readings = 0;
        waits = 0;
        os::set_time_source(&s);
    }
    by_clock(const by_clock&) = delete;
    by_clock& operator=(const by_clock&) = delete;
    ~by_clock() { os::set_time_source(nullptr); }
};

class chaos_clock : public guarded {};

TEST_F(chaos_clock, the_time_source_is_used_and_removed_again) {
    const std::uint64_t before = os::now_ns();
    {
        static const os::time_source fixed{[]() noexcept -> std::uint64_t { return 42; }, nullptr, nullptr};
        const by_clock in(fixed);
        EXPECT_EQ(os::now_ns(), 42U);
    }
    EXPECT_GE(os::now_ns(), before);
    {
        static const os::time_source waiting{nullptr, &no_wait, nullptr};
        const by_clock in(waiting);
        std::atomic<std::uint32_t> word{0};
        os::futex_wait_for(word, 0, ten_years); // in real time this would not end
        EXPECT_EQ(waits.load(), 1U);
        EXPECT_GE(os::now_ns(), before) << "a null member asks the kernel";
    }
}

TEST_F(chaos_clock, the_tick_rate_is_measured_where_it_can_be) {
    // The real one: between 1 MHz and 100 GHz, and not the guess by accident everywhere.
    const double rate = os::measured_tick_rate();
    EXPECT_GT(rate, 0.001);
    EXPECT_LT(rate, 100.0);
    // A clock and a counter in step, three ticks per nanosecond.
    static const os::time_source step{[]() noexcept -> std::uint64_t { return reading() * 100; }, nullptr,
                                      []() noexcept -> std::uint64_t { return readings.load() * 300; }};
    const by_clock in(step);
    EXPECT_NEAR(os::measured_tick_rate(), 3.0, 0.1);
}

TEST_F(chaos_clock, measuring_the_tick_rate_ends_by_every_clock) {
    for (const auto& c : clocks) {
        const by_clock in(c.source);
        const double rate = os::measured_tick_rate();
        EXPECT_GT(rate, 0.001) << c.name;
        EXPECT_LT(rate, 100.0) << c.name;
    }
    // Only the clock is mad, the processor's counter is not.
    for (const auto& c : clocks) {
        const os::time_source half{c.source.now, nullptr, nullptr};
        static os::time_source kept;
        kept = half;
        const by_clock in(kept);
        const double rate = os::measured_tick_rate();
        EXPECT_GT(rate, 0.001) << c.name;
        EXPECT_LT(rate, 100.0) << c.name;
    }
}

TEST_F(chaos_clock, loops_run_every_iteration_once_with_every_clock) {
    const std::uint64_t n = hundredth_of(20'000'000);
    for (const auto& c : clocks) {
        for (const unsigned w : {1U, 3U}) {
            pilfer::pool pool(workers(w));
            std::vector<std::atomic<std::uint8_t>> ran(n);
            const by_clock in(c.source);
            const auto sum = pool.run([&] {
                pilfer::for_each(std::uint64_t{0}, n, [&](std::uint64_t i) { ran[i].fetch_add(1); });
                return pilfer::reduce(
                    std::uint64_t{0}, n, std::uint64_t{0}, [](std::uint64_t i) { return i; },
                    [](std::uint64_t a, std::uint64_t b) { return a + b; });
            });
            EXPECT_EQ(sum, n * (n - 1) / 2) << c.name;
            EXPECT_GT(readings.load(), 0U) << c.name << " was not asked";
            std::uint64_t wrong = 0;
            for (auto& r : ran) {
                wrong += r.load() != 1;
            }
            EXPECT_EQ(wrong, 0U) << c.name << ", " << w << " workers";
        }
    }
}

TEST_F(chaos_clock, a_piece_of_a_loop_stays_bounded_while_the_clock_is_stopped) {
    static const os::time_source still{nullptr, nullptr, &stopped};
    const by_clock in(still);
    detail::piece_size piece;
    std::uint64_t largest = 0;
    for (int i = 0; i < 200; ++i) {
        piece.start();
        piece.done();
        largest = std::max(largest, piece.next(UINT64_MAX));
        ASSERT_GT(piece.next(UINT64_MAX), 0U) << "a loop would go on for ever";
    }
    EXPECT_EQ(largest, std::uint64_t{1} << 20);
}

TEST_F(chaos_clock, a_clock_that_steps_back_leaves_pieces_of_at_least_one) {
    static const os::time_source back{nullptr, nullptr, &backwards};
    const by_clock in(back);
    detail::piece_size piece;
    for (int i = 0; i < 100; ++i) {
        piece.start();
        piece.done();
        ASSERT_EQ(piece.next(1'000), 1U);
    }
}

/// The nap of a worker that finds no stack is the one timed wait of the core: with 3 stacks for 4 workers it
/// is taken.
TEST_F(chaos_clock, workers_without_a_stack_nap_by_every_clock) {
    for (const auto& c : clocks) {
        pilfer::options o = workers(4);
        o.max_contexts = 2;
        o.stack_size = std::size_t{4} << 20;
        pilfer::pool pool(o);
        const by_clock in(c.source);
        EXPECT_TRUE(eventually([&] {
            EXPECT_EQ(pool.run([] { return fib_fork(16); }), fib(16)) << c.name;
            return waits.load() > 0;
        })) << c.name
            << ": nobody napped";
    }
}

} // namespace
