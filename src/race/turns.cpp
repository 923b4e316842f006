// Threads take turns: one at a time runs tasks, and each stack has a fiber.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "race/detector.hpp"

/// Of the sanitizer's own library. Another name, because that library's header may declare it with
/// parameters.
extern "C" [[gnu::weak]] int tsan_get_report_data() asm("__tsan_get_report_data");

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

std::uintptr_t threads[most_threads];
std::atomic<unsigned> thread_count{0};
constinit thread_local std::uintptr_t known_thread = 0;
constinit thread_local bool makes_own = false;
constexpr std::size_t most_depth = std::size_t{1} << 22;

void note_thread(std::uintptr_t pointer) noexcept {
    if (const unsigned i = thread_count.fetch_add(1); i < most_threads) {
        threads[i] = pointer;
    }
}

std::atomic<std::uint32_t> turn{0}; // 0: free, 1: taken, 2: taken, and a thread waits
constinit thread_local bool has_turn = false;
constinit thread_local fiber* fiber_of_thread = nullptr;
constinit thread_local fiber* on_this_thread = nullptr;

void futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* t) noexcept {
    const int of_program = errno;
    syscall(SYS_futex, &word, what, value, t, nullptr, 0);
    errno = of_program;
}

/// False: a thread that has the turn sleeps outside the library, so this one goes on unseen.
[[nodiscard]] bool take_turn() noexcept {
    if (has_turn) {
        return true;
    }
    std::uint32_t free = 0;
    if (turn.compare_exchange_strong(free, 1)) {
        has_turn = true;
        return true;
    }
    timespec begin{};
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (turn.exchange(2) != 0) {
        const timespec t{1, 0};
        futex(turn, FUTEX_WAIT_PRIVATE, 2, &t);
        timespec now{};
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (now.tv_sec - begin.tv_sec > 20) {
            the.outside.fetch_add(1);
            return false;
        }
    }
    has_turn = true;
    return true;
}
void give_turn() noexcept {
    if (has_turn) {
        has_turn = false;
        if (turn.exchange(0) == 2) {
            futex(turn, FUTEX_WAKE_PRIVATE, 1, nullptr);
        }
    }
}

} // namespace

fiber* make_fiber(bool of_thread) noexcept {
    auto* const f = static_cast<fiber*>(reserve(sizeof(fiber) + most_depth * sizeof(frame)));
    f->frames = reinterpret_cast<frame*>(f + 1);
    f->top = f->frames;
    f->lowest = UINTPTR_MAX;
    f->of_thread = of_thread;
    if (the.fiber_count == most_fibers) {
        out_of_memory();
    }
    the.fibers[the.fiber_count++] = f;
    return f;
}

void give_fiber(fiber* f) noexcept {
    for (unsigned i = 0; i < the.fiber_count; ++i) {
        if (the.fibers[i] == f) {
            the.fibers[i] = the.fibers[--the.fiber_count];
            break;
        }
    }
    munmap(f, sizeof(fiber) + most_depth * sizeof(frame));
}

void note_thread_here() noexcept {
    const auto thread = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
    if (thread != known_thread) {
        known_thread = thread;
        note_thread(thread);
    }
}

void switch_to(fiber* f) noexcept {
    note_thread_here();
    fiber* const from = on_this_thread;
    on_this_thread = f;
    f->forget_answers();
    if (f->of_thread) {
        if (from != nullptr && (from->strand != 0 || from->ordered != 0)) {
            the.depth_first = false; // it waits, and others go on
        }
        running_fiber = nullptr;
        give_turn();
        return;
    }
    running_fiber = !the.over && take_turn() && f->in_library == 0 ? f : nullptr;
}

fiber* fiber_in_library() noexcept {
    fiber* const f = on_this_thread;
    return f != nullptr && f->in_library != 0 && has_turn && !the.over ? f : nullptr;
}

/// The sanitizer's own library would take the place of the room instrument. Whichever constructor is the
/// first one has to find it.
[[gnu::constructor]] static void check_link() noexcept {
    if (&tsan_get_report_data != nullptr) {
        os::write_error("pilfer race: link this program without -fsanitize=thread (docs/guides/races.md)\n");
        std::_Exit(70);
    }
}

void begin_program() noexcept {
    check_link();
    if (the.shadow.has_begun()) {
        return;
    }
    the.shadow.begin();
    if (const char* const records = std::getenv("PILFER_RACE_SWEEP")) {
        the.sweep_after(static_cast<std::uint32_t>(std::atol(records)));
    }
    note_thread(reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()));
    fiber* const f = make_fiber(true);
    f->strand = the.order.start(0, 0, how::start);
    fiber_of_thread = f;
    (void)take_turn();
    on_this_thread = f;
    running_fiber = f;
}

bool rests() noexcept {
    const bool had = has_turn;
    running_fiber = nullptr;
    give_turn();
    return had;
}
bool goes_on() noexcept {
    const bool looks = take_turn() && !the.over;
    if (looks) {
        running_fiber =
            on_this_thread != nullptr && on_this_thread->in_library != 0 ? nullptr : on_this_thread;
    }
    return looks;
}

bool has_fiber() noexcept { return on_this_thread != nullptr; }

bool lets_others_run() noexcept {
    fiber* const f = running_fiber;
    if (f == nullptr || turn.load() != 2) {
        return false;
    }
    the.depth_first = false;
    (void)rests();
    std::atomic<std::uint32_t> never{0};
    const timespec t{0, 1'000'000};
    futex(never, FUTEX_WAIT_PRIVATE, 0, &t);
    goes_on();
    f->forget_answers();
    return true;
}

resting::resting() noexcept : m_had_turn(rests()) {}
resting::~resting() {
    if (m_had_turn) {
        goes_on();
    }
}

void stop() noexcept {
    the.over = true;
    running_fiber = nullptr;
    the.found.given_up = the.order.given_up();
    the.found.outside_threads = the.outside.load();
}

unsigned thread_pointers(const std::uintptr_t*& all) noexcept {
    all = threads;
    return std::min(thread_count.load(), most_threads);
}

making_thread::making_thread() noexcept { makes_own = true; }
making_thread::~making_thread() { makes_own = false; }

void thread_begins() noexcept {
    if (!makes_own) {
        the.outside.fetch_add(1);
    }
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
