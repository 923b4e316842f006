// The slow halves of mutex, and its owners: cycles of owners are reported.
#include <pilfer/mutex.hpp>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <optional>

#include <pilfer/detail/sync/owner_wait.hpp>

#include "context/stack_pool.hpp"
#include "names/object_names.hpp"
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

constinit detail::mutex_owners all;

/// The text needs no memory of its own: it is short, and a waiter has a stack.
struct cycle_text {
    char bytes[1024];
    std::size_t used = 0;
    unsigned members = 0;

    /// The table is locked, so the waiter stays in its frame, and its stack, its pool and its name live.
    void add(const detail::named_wait& w) noexcept {
        put("%s", ++members == 1 ? "a cycle of tasks or threads that wait for each other's mutexes: " : "");
        name(w);
        put("%s waits for a mutex (", members == 1 ? "" : ", which");
        name(w.object, "", ", ");
        put("%p), held by ", w.object);
    }
    void name(const detail::named_wait& w) noexcept {
        if (w.pool == nullptr) {
            put("thread %llu", static_cast<unsigned long long>(w.thread));
            return;
        }
        if (w.stack == nullptr) {
            put("coroutine %p", w.coroutine);
        } else {
            put("context %u", detail::stack_pool::number_of(*w.stack));
        }
        put(" of pool %llu", static_cast<unsigned long long>(w.pool->listed.number));
        if (const char* const called = w.stack != nullptr ? w.stack->name.load(detail::rlx) : nullptr) {
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
    void say(const detail::named_wait& first) noexcept {
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

/// Not inlined, to keep the text out of the frame that waits.
PILFER_NOINLINE void name_cycle(detail::named_wait& w) noexcept {
    cycle_text said;
    const auto add = [&said](const detail::mutex_owners::waiting& member) noexcept {
        said.add(static_cast<const detail::named_wait&>(member)); // the table has no others
    };
    if (all.names_cycle(w, add)) {
        said.say(w);
    }
}

} // namespace

namespace detail {

#if defined(PILFER_TEST)
bool reports_cycles() noexcept { return this_worker() == nullptr || test_points.load(rlx) == nullptr; }
#else
bool reports_cycles() noexcept { return true; }
#endif

void begins_to_wait(named_wait& w) noexcept {
    all.add(w);
    if (w.wanted->load(rlx) != nullptr) {
        name_cycle(w);
    }
}

void waits_no_more(named_wait& w) noexcept { all.remove(w); }

void forget_mutex_waits() noexcept { ::new (&all) mutex_owners; }

} // namespace detail

const void* mutex::outside() noexcept {
    alignas(2) static thread_local const char thread = 0; // see is_coroutine_owner()
    return &thread;
}

/// A waiter for a mutex without a time limit, in its frame. A cycle may include several pools and threads.
struct mutex::owner_wait {
    explicit owner_wait(const mutex& m) noexcept : m_self(self(), m.m_owner, &m) {
        const detail::worker* const at = detail::this_worker();
        const detail::activation* const task = at != nullptr ? at->current.load(detail::rlx) : nullptr;
        m_self.stack = task != nullptr ? task->ctx : nullptr;
        if (m_self.stack != nullptr) {
            m_self.pool = m_self.stack->pool;
        } else {
            m_self.thread = os::thread_id();
        }
        detail::begins_to_wait(m_self);
    }
    owner_wait(const owner_wait&) = delete;
    owner_wait& operator=(const owner_wait&) = delete;
    ~owner_wait() { detail::waits_no_more(m_self); }

private:
    detail::named_wait m_self;
};

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
    f.coroutine = detail::owning_coroutine(f.holder);
    f.runner = m_runner.load(detail::rlx);
}

#else

void mutex::look(detail::wait_facts& f) const noexcept {
    f.state = m_core.is_held() ? "held" : nullptr;
    f.holder = m_owner.load(detail::rlx);
    f.coroutine = detail::owning_coroutine(f.holder);
#if defined(PILFER_TEST)
    const void* const owner = m_owner.load(detail::rlx);
    const detail::worker* const w = detail::this_worker();
    if (w != nullptr && w->explores && owner != nullptr && owner != outside() &&
        !detail::is_coroutine_owner(owner)) {
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
    if (until == detail::never && when == detail::leaves::at_the_end && detail::reports_cycles()) {
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
