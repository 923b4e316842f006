// Delays and rare results for tests. Empty unless PILFER_CHAOS is defined.
#include <pilfer/detail/base/chaos.hpp>

#if defined(PILFER_CHAOS)

#include <poll.h>
#include <sched.h>
#include <time.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <pilfer/detail/base/signal_word.hpp>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace chaos {

std::atomic<std::uint32_t> flags{0};

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto points = static_cast<unsigned>(point::count);
constexpr auto choices = static_cast<unsigned>(choice::count);

std::atomic<std::uint64_t> the_seed{1};
std::atomic<unsigned> the_level{0};
std::atomic<std::uint64_t> the_generation{1}; // changes with every configure(): threads start anew
std::atomic<std::uint64_t> unnamed_threads{1ULL << 32};
std::atomic<std::uint64_t> pool_starts{0};
std::array<std::atomic<std::uint64_t>, points> disturbed{};
std::array<std::atomic<std::uint64_t>, choices> chosen{};

/// splitmix64 (Steele, Lea and Flood 2014): the numbers of one thread, and the weights of the points.
[[nodiscard]] std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// Relaxed atomics, which are plain moves for the machine: ThreadSanitizer treats the contexts of one thread
/// as different threads.
struct sequence {
    std::atomic<std::uint64_t> state{0};
    std::atomic<std::uint64_t> number{0};
    std::atomic<std::uint64_t> generation{0};
    std::atomic<std::uint64_t> drawn{0};
};
constinit thread_local sequence own;

/// The calling frame may be on another thread at its next call: no caller may keep an address in here.
[[nodiscard]] PILFER_NOINLINE PILFER_NO_SANITIZE std::uint64_t draw() noexcept {
    const std::uint64_t generation = the_generation.load(relaxed);
    if (own.generation.load(relaxed) != generation) {
        own.generation.store(generation, relaxed);
        if (own.number.load(relaxed) == 0) {
            own.number.store(unnamed_threads.fetch_add(1, relaxed), relaxed);
        }
        own.state.store(mixed(the_seed.load(relaxed) ^ mixed(own.number.load(relaxed))), relaxed);
        own.drawn.store(0, relaxed);
    }
    own.drawn.store(own.drawn.load(relaxed) + 1, relaxed);
    const std::uint64_t state = own.state.load(relaxed) + 0x9e3779b97f4a7c15ULL;
    own.state.store(state, relaxed);
    return mixed(state);
}

/// Every point has a temper, which changes after some thousand draws of a thread: mostly calm, sometimes
/// slow, rarely stuck. Equal delays everywhere would keep the threads in step, and find little. One place
/// that is slow while all others are quick finds orders.
enum class temper { calm, slow, stuck };
[[nodiscard]] PILFER_NOINLINE temper temper_of(point p) noexcept {
    const std::uint64_t phase = own.drawn.load(relaxed) >> 12;
    const std::uint64_t h =
        mixed(the_seed.load(relaxed) + (phase << 8) + static_cast<std::uint64_t>(p) * 0x1000193) & 15;
    return h < 10 ? temper::calm : (h < 14 ? temper::slow : temper::stuck);
}

void pauses(unsigned n) noexcept {
    for (unsigned i = 0; i < n; ++i) {
        cpu_relax();
    }
}

void nap(unsigned microseconds) noexcept {
    const timespec t{0, static_cast<long>(microseconds) * 1000};
    (void)ppoll(nullptr, 0, &t, nullptr);
}

/// PILFER_CHAOS="SEED" or "SEED,LEVEL" (default 2), for programs that have no options of their own.
[[nodiscard]] bool read_environment() noexcept {
    const char* text = std::getenv("PILFER_CHAOS");
    if (text == nullptr || *text == '\0') {
        return false;
    }
    char* end = nullptr;
    settings s;
    s.seed = std::strtoull(text, &end, 0);
    s.level = *end == ',' ? static_cast<unsigned>(std::strtoul(end + 1, &end, 0)) : 2;
    if (*end != '\0' || s.level > 3) {
        os::write_error("pilfer: PILFER_CHAOS must be SEED or SEED,LEVEL with a level from 0 to 3\n");
        std::abort();
    }
    s.near_wrap = true;
    configure(s);
    char message[96];
    (void)std::snprintf(message, sizeof message, "pilfer: chaos of level %u, seed %llu\n", s.level,
                        static_cast<unsigned long long>(s.seed));
    os::write_error(message);
    return true;
}
[[maybe_unused]] const bool from_environment = read_environment();

} // namespace

void configure(const settings& s) noexcept {
    the_seed.store(s.seed, relaxed);
    the_level.store(s.level, relaxed);
    the_generation.fetch_add(1, relaxed);
    flags.store((s.level > 0 ? 1U : 0U) | (s.near_wrap ? 2U : 0U), relaxed);
}

settings configured() noexcept {
    return {the_seed.load(relaxed), the_level.load(relaxed), (flags.load(relaxed) & 2U) != 0};
}

PILFER_NOINLINE void thread_is(std::uint64_t number) noexcept {
    own.number.store(number, relaxed);
    own.generation.store(0, relaxed);
}

std::uint64_t disturbances(point p) noexcept { return disturbed[static_cast<unsigned>(p)].load(relaxed); }
std::uint64_t disturbances(choice c) noexcept { return chosen[static_cast<unsigned>(c)].load(relaxed); }

const char* name_of(point p) noexcept {
    static constexpr std::array<const char*, points> names = {
        "light fence", "full fence", "heavy fence", "claim",    "lock",   "publish",
        "leave",       "enter",      "announce",    "wake",     "token",  "idle",
        "contexts",    "accept",     "close",       "complete", "future",
    };
    return names[static_cast<unsigned>(p)];
}
const char* name_of(choice c) noexcept {
    static constexpr std::array<const char*, choices> names = {
        "trip", "expose", "yield", "refuse context", "early return", "busy",
    };
    return names[static_cast<unsigned>(c)];
}

void disturb(point p) noexcept {
    // Out of 4,096: pauses, then a yield, then a sleep. A column per level.
    struct odds {
        std::uint64_t pause, yield, sleep;
    };
    static constexpr odds table[3][3] = {
        {{16, 2, 0}, {64, 8, 0}, {256, 64, 2}},      // level 1: calm, slow, stuck
        {{64, 8, 0}, {256, 64, 2}, {1024, 256, 32}}, // level 2
        {{256, 64, 2}, {512, 256, 16}, {1024, 512, 128}},
    };
    const std::uint64_t r = draw();
    const unsigned level = the_level.load(relaxed);
    if (level == 0) {
        return;
    }
    const odds& o = table[level - 1][static_cast<unsigned>(temper_of(p))];
    const std::uint64_t dice = r & 4095;
    if (dice >= o.pause) {
        return;
    }
    disturbed[static_cast<unsigned>(p)].fetch_add(1, relaxed);
    if (dice < o.sleep) {
        nap(static_cast<unsigned>(1 + (r >> 32) % 100));
    } else if (dice < o.yield) {
        (void)sched_yield();
    } else {
        pauses(static_cast<unsigned>(1 + (r >> 32) % 200));
    }
}

bool choose(choice c) noexcept {
    // Out of 4,096, at level 2; half of it at level 1, twice at 3.
    static constexpr std::array<std::uint64_t, choices> odds = {32, 1024, 512, 256, 256, 64};
    const unsigned level = the_level.load(relaxed);
    if (level == 0 || (draw() & 4095) >= (odds[static_cast<unsigned>(c)] << level >> 2)) {
        return false;
    }
    chosen[static_cast<unsigned>(c)].fetch_add(1, relaxed);
    return true;
}

unsigned number_below(unsigned n) noexcept {
    return (flags.load(relaxed) & 1U) == 0 ? 0 : static_cast<unsigned>((draw() >> 32) % n);
}

// ---- beginnings -------------------------------------------------------------------------------

std::uint64_t start_word(unsigned bits) noexcept {
    if ((flags.load(relaxed) & 2U) == 0) {
        return 0;
    }
    // Not draw(): the beginnings of a pool follow from the seed and the number of pools, on whatever thread
    // it is made.
    const std::uint64_t r = mixed(the_seed.load(relaxed) + mixed(pool_starts.fetch_add(1, relaxed)));
    static constexpr unsigned edges[] = {8, 16, 31, 32, 47, 48, 63, 64};
    unsigned edge = edges[r % std::size(edges)];
    edge = edge > bits ? bits : edge;
    // Up to 128 steps before the edge, so that it is passed within moments.
    return (edge == 64 ? 0 : std::uint64_t{1} << edge) - (1 + ((r >> 8) & 127));
}

std::int64_t start_index(std::int64_t capacity) noexcept {
    if ((flags.load(relaxed) & 2U) == 0) {
        return 0;
    }
    const std::uint64_t r = mixed(the_seed.load(relaxed) + mixed(pool_starts.fetch_add(1, relaxed)));
    const auto before = static_cast<std::int64_t>((r >> 8) % static_cast<std::uint64_t>(capacity / 2));
    static constexpr unsigned edges[] = {16, 31, 32, 47, 48, 52, 57};
    const unsigned which = static_cast<unsigned>(r % (std::size(edges) + 2));
    if (which == std::size(edges)) {
        return -before;
    }
    if (which > std::size(edges)) {
        // As near to the signal word's last limit as a run may come: 2^40 thefts more would reach it.
        return signal_word<std_atom>::limit_mask - (std::int64_t{1} << 40) - before;
    }
    return (std::int64_t{1} << edges[which]) - before;
}

std::int64_t start_children() noexcept {
    if ((flags.load(relaxed) & 2U) == 0) {
        return 0;
    }
    // Most scopes begin at 0, because any other beginning takes the slow path of sync.
    const std::uint64_t r = draw();
    if ((r & 15) != 0) {
        return 0;
    }
    static constexpr unsigned edges[] = {31, 32, 46, 47};
    const std::int64_t edge = std::int64_t{1} << edges[(r >> 4) % std::size(edges)];
    const auto before = static_cast<std::int64_t>((r >> 8) & 7);
    return (r & 16) != 0 ? edge - before : before - edge;
}

} // namespace chaos
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
