// The checker: protocol code runs on fibers in one thread. Every interleaving and every allowed stale value
// is a choice of a strategy.
//
// Memory is the view-based model of C++20 atomics without load buffering:
// 1. A location is a list of messages in modification order.
// 2. A thread has a view: the oldest message of each location that it may still read.
// 3. A releasing store attaches its thread's view to its message.
//
// README.md lists what is left out and why.
//
// Source of the model: Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising semantics for relaxed-memory
// concurrency", POPL 2017, without promises; release sequences as in C++20.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <string>
#include <vector>

#include <pilfer/detail/base/atom.hpp>

#include "strategy.hpp"

namespace model {

using where = std::source_location;

inline constexpr unsigned max_threads = 8; // the main one, 0, included
inline constexpr unsigned max_locations = 120;
inline constexpr unsigned max_messages = 4096;

/// A position in the modification order of one location. Stores leave gaps, so that one can be put between
/// two others later.
using stamp = std::int16_t;
inline constexpr stamp stamp_gap = 64;

/// The knowledge of a thread, or of the reader of a message. Per location: the oldest message that it may
/// still read. Per thread: how many of its plain accesses happened before.
struct alignas(16) view {
    std::array<stamp, max_locations> at;
    std::array<stamp, max_threads> clock;

    void clear() noexcept {
        at.fill(0);
        clock.fill(0);
    }
    void join(const view& other) noexcept {
        join_locations(other);
        for (unsigned i = 0; i < max_threads; ++i) {
            clock[i] = other.clock[i] > clock[i] ? other.clock[i] : clock[i];
        }
    }
    /// Without happens-before: the messages that the total order of sequentially consistent fences passes on.
    void join_locations(const view& other) noexcept {
        for (unsigned i = 0; i < max_locations; ++i) {
            at[i] = other.at[i] > at[i] ? other.at[i] : at[i];
        }
    }
};

struct message {
    std::uint64_t value;
    message* older;
    stamp at;
    std::uint8_t author;
    bool update;   // of the message before it: nothing may come between
    bool releases; // `released` holds something
    view released;
};

/// A kind of access, as traces and the mutation tool name it.
enum class access : std::uint8_t { load, store, exchange, compare, fetch, fence, light, heavy };
[[nodiscard]] const char* to_string(access a) noexcept;
[[nodiscard]] const char* to_string(std::memory_order o) noexcept;

/// One place in the source that names an order or a fence.
struct site {
    where place;
    access kind;
    bool on_failure; // the second order of a compare-and-swap
    std::memory_order order;
};
/// An order weakened by one step. A fence or light fence of order relaxed is no fence at all.
struct mutation {
    site original;
    std::memory_order weaker;
};

/// One harness: see harness.hpp.
struct harness {
    const char* name;
    const char* text;
    unsigned threads;
    std::size_t bytes;
    void (*make)(void* at);
    void (*run)(void* self, unsigned thread);
    void (*finish)(void* self);
    bool (*at_rest)(void* self);
};

struct result {
    bool failed = false;
    std::string message;
    std::vector<std::uint8_t> choices; // replays the execution
};

/// One execution at a time; everything that the policies in atom.hpp do ends here.
class engine {
public:
    engine();
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    /// Runs `h` once under `s`. With `trace` every access is printed to standard output.
    [[nodiscard]] const result& run(const harness& h, strategy& s, bool trace = false);
    /// Of all executions so far.
    [[nodiscard]] std::uint64_t steps() const noexcept { return m_all_steps; }

    /// Weakens one order from now on; null: none.
    void mutate(const mutation* m) noexcept { m_mutation = m; }
    /// Collects the sites that are executed; null: no more.
    void collect(std::vector<site>* sites) noexcept { m_sites = sites; }

    // ---- for the policies ------------------------------------------------------------------------
    std::uint16_t add_location(const void* address, std::uint64_t value);
    void remove_location(std::uint16_t id, const void* address) noexcept;
    [[nodiscard]] std::uint64_t load(std::uint16_t id, const void* address, std::memory_order o, where w);
    void store(std::uint16_t id, const void* address, std::uint64_t v, std::memory_order o, where w);
    /// A read-modify-write: `change` gets the value read. Returns the value read.
    template <class Change>
    std::uint64_t update(std::uint16_t id, const void* address, access kind, std::memory_order o, where w,
                         Change change);
    /// True: exchanged.
    [[nodiscard]] bool compare(std::uint16_t id, const void* address, std::uint64_t& expected,
                               std::uint64_t desired, std::memory_order success, std::memory_order failure,
                               bool weak, where w);
    void fence(std::memory_order o, where w);
    void light_fence(where w);
    void heavy_fence(where w);
    /// An unsuccessful round of a short wait: another thread must change something first.
    void relax();
    struct slept_on {
        std::uint16_t id;
        const void* address;
        std::uint64_t expected;
    };
    /// Sleeps while each of one or two words has its expected value.
    void park(std::initializer_list<slept_on> words, where w);
    void unpark(std::uint16_t id, const void* address, where w);

    struct plain_state {
        std::uint32_t execution = 0;
        std::uint8_t writer = 0;
        stamp written = 0;
        std::array<stamp, max_threads> read{};
    };
    void plain_start(plain_state& p) noexcept;
    void plain_read(plain_state& p, const void* address);
    void plain_write(plain_state& p, const void* address);
    /// A call rather than a store, which a compiler may drop at the end of an object's life.
    void plain_end(plain_state& p, const void* address);

    // ---- for harnesses ---------------------------------------------------------------------------
    [[noreturn]] void fail(const char* text);
    void note(const char* text, std::uint64_t value);
    [[nodiscard]] bool tracing() const noexcept { return m_trace; }
    [[nodiscard]] unsigned self() const noexcept { return m_current; }
    /// One of n, chosen by the strategy.
    [[nodiscard]] unsigned choose(unsigned n) { return n > 1 ? m_strategy->choose(n, choice::other) : 0; }
    /// Any value that differs from one execution to the next, for objects that outlive theirs.
    [[nodiscard]] std::uint32_t execution() const noexcept { return m_execution; }
    [[noreturn]] void never_again();

private:
    enum class state : std::uint8_t { ready, spinning, parked, gone, finished };
    struct thread {
        view current;
        view acquired; // By relaxed loads. An acquire fence brings it into `current`.
        view released; // At the last release fence.
        view boundary; // At the last light fence. A heavy fence of another thread may make it visible.
        view owed;     // By heavy fences of others, until the next light fence.
        bool has_acquired, has_released, owes, moved;
        unsigned second_looks;  // See hand_over().
        bool stale;             // It read an old value since its last wait: another look helps.
        unsigned fresh;         // Number of loads that read the newest value, for a wait that looks again.
        std::uint64_t progress; // Progress of all threads when it began to spin.
        state what;
        bool started;
        std::array<std::uint16_t, 2> parked_on; // One word is stored twice.
        void* sp;
        const char* file;
        unsigned line;
    };
    struct location {
        message* newest;
        const void* address;
        bool alive;
        std::uint8_t maker;
        stamp made;
        view parked; // The view that the kernel's lock of this word passes on.
        bool has_parked;
    };

    void reset(const harness& h);
    [[nodiscard]] static std::byte* stack_of(unsigned thread) noexcept;
    static void entry(void* self) noexcept;
    void point(const where& w);
    void hand_over();
    [[nodiscard]] int next_thread(bool may_stay);
    void becomes(unsigned index, state s) noexcept;
    void switch_to(unsigned next);
    [[noreturn]] void leave_to(unsigned next);
    [[noreturn]] void abandon();
    [[nodiscard]] std::string who_waits() const;

    [[nodiscard]] location& at(std::uint16_t id, const void* address);
    [[nodiscard]] message* read_choice(location& l, std::uint16_t id);
    [[nodiscard]] message* update_choice(location& l, std::uint16_t id);
    void acquire_from(const message& m, std::uint16_t id, std::memory_order o);
    [[nodiscard]] message* new_message(std::uint16_t id, std::uint64_t v, std::memory_order o);
    void insert(location& l, std::uint16_t id, message* m, message* behind);
    message* add_update(location& l, std::uint16_t id, message* read, std::uint64_t v, std::memory_order o);
    void sc_fence(thread& t, unsigned index);
    void bump_clock(unsigned index);
    void boundary(thread& t);
    [[nodiscard]] std::memory_order effective(std::memory_order o, access kind, bool on_failure,
                                              const where& w) {
        return m_sites == nullptr && m_mutation == nullptr ? o : collected_or_mutated(o, kind, on_failure, w);
    }
    [[nodiscard]] std::memory_order collected_or_mutated(std::memory_order o, access kind, bool on_failure,
                                                         const where& w);
    [[nodiscard]] bool mutated(access kind, const where& w) const noexcept;
    void print(const where& w, const char* what, std::memory_order o, std::uint64_t v, const char* more);

    const harness* m_harness = nullptr;
    strategy* m_strategy = nullptr;
    const mutation* m_mutation = nullptr;
    std::vector<site>* m_sites = nullptr;
    result m_result;
    bool m_trace = false;

    std::uint32_t m_execution = 0;
    unsigned m_threads = 0; // the main one included
    unsigned m_current = 0;
    // Of all threads at once, because each step asks: a bit for each.
    unsigned m_ready = 0;
    unsigned m_spinning = 0;
    std::array<std::uint8_t, max_threads>
        m_gives_way_to{}; // threads with a step to take before this one looks again
    unsigned m_locations = 0;
    unsigned m_messages = 0;
    unsigned m_steps = 0;
    std::uint64_t m_all_steps = 0;
    std::uint64_t m_progress = 0;
    void* m_main_sp = nullptr;
    view m_order; // of the sequentially consistent fences
    std::array<thread, max_threads> m_thread;
    std::array<location, max_locations> m_location;
    std::vector<message> m_pool;
    struct alignas(64) object_line { // some objects keep bits of their own in the low ones of an address
        std::byte bytes[64];
    };
    std::vector<object_line> m_object;
};

/// The engine of this process.
extern engine the_engine;
[[nodiscard]] inline engine& here() noexcept { return the_engine; }

template <class Change>
std::uint64_t engine::update(std::uint16_t id, const void* address, access kind, std::memory_order o, where w,
                             Change change) {
    point(w);
    o = effective(o, kind, false, w);
    location& l = at(id, address);
    if (o == std::memory_order_seq_cst) {
        sc_fence(m_thread[m_current], m_current);
    }
    message* read = update_choice(l, id);
    const std::uint64_t before = read->value;
    const std::uint64_t after = change(before);
    acquire_from(*read, id, o);
    (void)add_update(l, id, read, after, o);
    if (after != before) {
        ++m_progress;
        m_thread[m_current].fresh = 0; // a lock after a wait: the data that it protects is read as usual
    }
    boundary(m_thread[m_current]);
    if (m_trace) {
        print(w, to_string(kind), o, before, (" := " + std::to_string(after)).c_str());
    }
    return before;
}

} // namespace model
