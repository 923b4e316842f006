// The slow halves of mutex, and its owners: cycles of owners are reported.
#include <pilfer/mutex.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <optional>

#include <pilfer/detail/sync/owners.hpp>

#include "context/stack_pool.hpp"
#include "platform/object_names.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"
#include "sync/forked.hpp"
#include "sync/kinds.hpp"
#include "task/recorded_limit.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind mutex_kind{"a mutex",
                                       [](const detail::suspension& s, detail::wait_facts& f) noexcept {
                                           static_cast<const mutex*>(s.object)->look(f);
                                       }};

using owners = detail::owner_table<detail::std_atom, detail::futex_park>;
constinit owners all;

/// A wait in the table, with what a report calls the waiter.
struct named_wait : owners::waiting {
    const detail::context* stack = nullptr; // null: a thread outside, or one of a one-lock pool
    std::uint64_t thread = 0;               // its number in the system, if there is no stack

    named_wait(const void* w, const owners::owner_word& o, const void* what) noexcept : waiting(w, o, what) {
        const detail::worker* const at = detail::this_worker();
        const detail::activation* const task = at != nullptr ? at->current.load(detail::rlx) : nullptr;
        stack = task != nullptr ? task->ctx : nullptr;
        thread = stack == nullptr ? os::thread_id() : 0;
    }
};

#if defined(PILFER_TEST)
/// Tasks that are explored or recorded may wait for ever, and the test says so.
[[nodiscard]] bool reports_cycles() noexcept {
    return detail::this_worker() == nullptr || detail::test_points.load(detail::rlx) == nullptr;
}
#else
[[nodiscard]] constexpr bool reports_cycles() noexcept { return true; }
#endif

} // namespace

const void* mutex::outside() noexcept {
    static thread_local const char thread = 0;
    return &thread;
}

/// A waiter for a mutex without a time limit, in its frame. A cycle may include several pools and threads.
struct mutex::owner_wait {
    using table = owners;

    explicit owner_wait(const mutex& m) noexcept : m_self(self(), m.m_owner, &m) {
        all.add(m_self);
        if (m.m_owner.load(detail::rlx) != nullptr) {
            look();
        }
    }
    owner_wait(const owner_wait&) = delete;
    owner_wait& operator=(const owner_wait&) = delete;
    ~owner_wait() { all.remove(m_self); }

private:
    /// Not inlined, to keep the text out of the frame that waits.
    PILFER_NOINLINE void look() noexcept {
        text said;
        const auto add = [&said](const table::waiting& w) noexcept {
            said.add(static_cast<const named_wait&>(w)); // the table has no others
        };
        if (all.names_cycle(m_self, add)) {
            said.say(m_self);
        }
    }
    /// The text needs no memory of its own: it is short, and a waiter has a stack.
    struct text {
        char bytes[1024];
        std::size_t used = 0;
        unsigned members = 0;

        /// The table is locked, so the waiter stays in its frame, and its stack, its pool and its name live.
        void add(const named_wait& w) noexcept {
            put("%s",
                ++members == 1 ? "a cycle of tasks or threads that wait for each other's mutexes: " : "");
            name(w);
            put("%s waits for a mutex (", members == 1 ? "" : ", which");
            name(w.object, "", ", ");
            put("%p), held by ", w.object);
        }
        void name(const named_wait& w) noexcept {
            if (w.stack == nullptr) {
                put("thread %llu", static_cast<unsigned long long>(w.thread));
                return;
            }
            put("context %u of pool %llu", detail::stack_pool::number_of(*w.stack),
                static_cast<unsigned long long>(w.stack->pool->listed.number));
            if (const char* const called = w.stack->name.load(detail::rlx)) {
                put(" \"%.64s\"", called);
            }
        }
        /// The name of a mutex, if it has one, between two texts.
        void name(const void* mutex, const char* before, const char* after) noexcept {
            char called[65];
            if (detail::object_names::copy(mutex, called, sizeof called)) {
                put("%s\"%s\"%s", before, called, after);
            }
        }
        [[gnu::format(printf, 2, 3)]] void put(const char* format, ...) noexcept {
            std::va_list arguments;
            va_start(arguments, format);
            const int n = std::vsnprintf(bytes + used, sizeof bytes - used, format, arguments);
            va_end(arguments);
            used = std::min(used + static_cast<std::size_t>(std::max(n, 0)), sizeof bytes - 1);
        }
        /// `first`: the first member, which is the caller.
        void say(const named_wait& first) noexcept {
            if (members == 1) {
                used = 0;
                put("a mutex");
                name(first.object, " (", ")");
                put(" is locked twice by the same task or thread");
            } else {
                name(first);
            }
            if constexpr (detail::checked_build) {
                detail::check_failed(bytes);
            }
            std::fprintf(stderr, "pilfer: %s\n", bytes);
        }
    };

    named_wait m_self;
};

void detail::forget_mutex_waits() noexcept { ::new (&all) owners; }

#if defined(PILFER_CHECKED)

mutex::~mutex() {
    detail::ensure([this] { return !m_core.is_held(); }, "a mutex ends that is held");
    detail::ensure([this] { return m_core.at_rest(); }, "a mutex ends that somebody waits for");
}

bool mutex::took() noexcept {
    detail::race::locks(this);
    const detail::worker* w = detail::this_worker();
    m_runner.store(w != nullptr ? w->current.load(detail::rlx)->ctx : nullptr, detail::rlx);
    m_owner.store(holder(), detail::rlx);
    return true;
}

void mutex::leaves() noexcept {
    detail::race::unlocks(this);
    const void* const owner = m_owner.load(detail::rlx);
    detail::ensure([this] { return m_core.is_held(); }, "a mutex is unlocked that nobody holds");
    detail::ensure([owner] { return owner == self(); },
                   "a mutex is unlocked by another one than has locked it");
    m_runner.store(nullptr, detail::rlx);
    m_owner.store(nullptr, detail::rlx);
}

void mutex::look(detail::wait_facts& f) const noexcept {
    f.state = m_core.is_held() ? "held" : nullptr;
    f.holder = m_owner.load(detail::rlx);
    f.runner = m_runner.load(detail::rlx);
}

#else

void mutex::look(detail::wait_facts& f) const noexcept {
    f.state = m_core.is_held() ? "held" : nullptr;
    f.holder = m_owner.load(detail::rlx);
#if defined(PILFER_TEST)
    const void* const owner = m_owner.load(detail::rlx);
    const detail::worker* const w = detail::this_worker();
    if (w != nullptr && w->explores && owner != nullptr && owner != outside()) {
        f.runner = static_cast<const detail::activation*>(owner)->ctx; // of an explored pool: it does not run
    }
#endif
}

#endif

bool mutex::lock_slow(detail::instant until, detail::leaves when) noexcept {
    using protocol = detail::mutex_protocol<detail::std_atom, detail::futex_park>;
    if (until != detail::never && detail::time_is_over_as_recorded(until <= detail::now())) {
        if (m_core.try_lock()) {
            return true;
        }
        detail::give_way(detail::awaited::a_holder);
        return m_core.try_lock();
    }
    protocol::entry self;
    protocol::step s = m_core.enter(self);
    if (s == protocol::step::owned) {
        return true;
    }
    std::optional<owner_wait> known;
    if (until == detail::never && when == detail::leaves::at_the_end && reports_cycles()) {
        known.emplace(*this);
    }
    while (s == protocol::step::wait) {
        detail::wait_in(m_core.waiting(), self, until, mutex_kind, this, detail::awaited::a_holder, when);
        s = m_core.look(self, [until, when] {
            return (until != detail::never && detail::time_is_over_as_recorded(detail::now() >= until)) ||
                   (when == detail::leaves::when_stopped && detail::must_leave());
        });
    }
    return s == protocol::step::owned;
}

void mutex::lock_or_leave() {
    while (!lock_slow(detail::never, detail::leaves::when_stopped)) {
        detail::leave_if_stopped();
    }
}

void mutex::unlock_slow() noexcept {
    if (auto* next = m_core.unlock_slow()) {
        detail::go_on(*next);
    }
}

} // namespace v0
} // namespace pilfer
