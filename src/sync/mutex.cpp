// The slow halves of mutex, and what the checked build knows about owners.
#include <pilfer/mutex.hpp>

#include <cstdio>
#include <mutex>
#include <optional>

#include "sync/kinds.hpp"

namespace pilfer {
inline namespace v0 {
namespace {

constexpr detail::wait_kind mutex_kind{"a mutex",
                                       [](const detail::suspension& s, detail::wait_facts& f) noexcept {
                                           static_cast<const mutex*>(s.object)->look(f);
                                       }};

} // namespace

#if defined(PILFER_CHECKED)

namespace {

/// The calling task or thread. A task may go on on another thread, so it is its activation.
[[nodiscard]] PILFER_NOINLINE const void* self() noexcept {
    if (const detail::worker* w = detail::this_worker()) {
        return w->current.load(detail::rlx);
    }
    static thread_local const char thread = 0;
    return &thread;
}

} // namespace

/// One that waits for a mutex without a time limit, in its frame. All of the program are in one list: a cycle
/// may go through several pools and threads.
struct mutex::owner_wait {
    const void* who = self();
    const mutex* what;
    owner_wait* next = nullptr;

    explicit owner_wait(const mutex& m) : what(&m) {
        const std::lock_guard hold(lock);
        next = all;
        all = this;
        look_for_cycle();
    }
    owner_wait(const owner_wait&) = delete;
    owner_wait& operator=(const owner_wait&) = delete;
    ~owner_wait() {
        const std::lock_guard hold(lock);
        owner_wait** at = &all;
        while (*at != this) {
            at = &(*at)->next;
        }
        *at = next;
    }

    /// An owner is written before it waits for another one's mutex, and not before its own wait is over; so
    /// who is found in a cycle that ends here can do nothing about it any more.
    void look_for_cycle() const {
        char text[512];
        int used = std::snprintf(text, sizeof text,
                                 "a cycle of tasks or threads that wait for each other's mutexes:");
        const owner_wait* w = this;
        for (int length = 1;; ++length) {
            const void* const owner = w->what->m_owner.load(detail::rlx);
            if (used > 0 && static_cast<std::size_t>(used) < sizeof text) {
                used += std::snprintf(text + used, sizeof text - static_cast<std::size_t>(used),
                                      " %p waits for the mutex %p, held by %p;", w->who,
                                      static_cast<const void*>(w->what), owner);
            }
            if (owner == who) {
                detail::check_failed(length == 1 ? "a mutex is locked twice by the same task or thread"
                                                 : text);
            }
            const owner_wait* other = all;
            while (other != nullptr && (owner == nullptr || other->who != owner)) {
                other = other->next;
            }
            if (other == nullptr || length == 1000) {
                return; // it goes on, or is in a cycle with others, who have said so
            }
            w = other;
        }
    }

    inline static std::mutex lock;
    inline static owner_wait* all = nullptr;
};

mutex::~mutex() {
    detail::ensure([this] { return !m_core.is_held(); }, "a mutex ends that is held");
    detail::ensure([this] { return m_core.at_rest(); }, "a mutex ends that somebody waits for");
}

bool mutex::took() noexcept {
    const detail::worker* w = detail::this_worker();
    m_runner.store(w != nullptr ? w->current.load(detail::rlx)->ctx : nullptr, detail::rlx);
    m_owner.store(self(), detail::rlx);
    return true;
}

void mutex::leaves() noexcept {
    const void* const owner = m_owner.load(detail::rlx);
    detail::ensure([this] { return m_core.is_held(); }, "a mutex is unlocked that nobody holds");
    detail::ensure([owner] { return owner == self(); },
                   "a mutex is unlocked by another one than has locked it");
    m_runner.store(nullptr, detail::rlx);
    m_owner.store(nullptr, detail::rlx);
}

void mutex::look(detail::wait_facts& f) const noexcept {
    f.state = m_core.is_held() ? "held" : nullptr;
    f.runner = m_runner.load(detail::rlx);
}

#else

void mutex::look(detail::wait_facts& f) const noexcept { f.state = m_core.is_held() ? "held" : nullptr; }

#endif

bool mutex::lock_slow(detail::instant until, detail::leaves when) noexcept {
    using protocol = detail::mutex_protocol<detail::std_atom, detail::futex_park>;
    if (until != detail::never && until <= detail::now()) {
        return m_core.try_lock();
    }
    protocol::entry self;
    protocol::step s = m_core.enter(self);
    if (s == protocol::step::owned) {
        return true;
    }
#if defined(PILFER_CHECKED)
    std::optional<owner_wait> known;
    if (until == detail::never && when == detail::leaves::at_the_end) {
        known.emplace(*this);
    }
#endif
    while (s == protocol::step::wait) {
        detail::wait_in(m_core.waiting(), self, until, mutex_kind, this, detail::awaited::a_holder, when);
        s = m_core.look(self, [until, when] {
            return (until != detail::never && detail::now() >= until) ||
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
