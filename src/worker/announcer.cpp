#include "worker/announcer.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/write.hpp"
#include "deque/rings.hpp"
#include "worker/team.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// True: `task` was the newest of the own deque, and is no longer there.
[[nodiscard]] bool takes_back(split_deque<std_atom>::owner_end& own, task_word task) noexcept {
    using popped = split_deque<std_atom>::owner_end::popped;
    const popped got = own.pop_if(task);
    return got == popped::taken || (got == popped::slow && own.pop_slow(1) == task);
}

} // namespace

announcer::announcer(scheduler& w, team& t) noexcept
    : m_worker(w), m_team(t),
      m_exposer(t.settings().balance.exposure, t.settings().balance.threshold, t.settings().balance.eager),
      m_count_all(t.settings().debug.count_all) {}

/// Answers the requests of the last task's time before the next task begins. A worker that runs one stolen
/// task after another announces nothing. Without this call thieves would have to spin and force an exposure
/// for each task.
void announcer::share_between_tasks() noexcept {
    using trip = signal_word<std_atom>;
    if (!m_worker.deque.signal().has(trip::wanted | trip::expose)) {
        return;
    }
    const auto bits = take_bits();
    answer(bits);
    keep_yield_requests(bits); // for the task that runs next
}

bool announcer::signalled(task_word task, way may) noexcept {
    if (m_worker.deque.owner().weighs()) {
        m_worker.deque.owner().weigh_newest();
    }
    return follow_push(task, may);
}

/// Handles a push that hit the signal word: makes room, exposes, wakes and yields. False: the deque has no
/// room, and the caller runs `task`.
bool announcer::follow_push(task_word task, way may) noexcept {
    using trip = signal_word<std_atom>;
    trip::word bits = 0;
    {
        const in_activity publishing(m_worker.current_activity, activity::publishing);
        auto own = m_worker.deque.owner();
        if (own.weighs() && !own.pinned() && own.has_room() && !m_worker.deque.signal().has(trip::asked)) {
            return true; // it is only here to be weighed
        }
        // Room first: nothing may be announced before there is some.
        if (!own.make_room() && !grow_ring(own)) {
            if (takes_back(own, task)) {
                return false;
            }
            // Another thread took a task meanwhile, so there is room for one more. deque.E3: acquired before
            // its slot is written.
            (void)own.make_room();
        }
        if (m_count_all) {
            m_worker.count.announced.add();
        }
        bits = after_push();
    }
    if (PILFER_CHAOS_MAYBE(yield)) {
        bits |= trip::yield_request;
        m_patience = 1;
    }
    if ((bits & trip::yield_request) != 0) {
        if (m_patience > 0) {
            m_patience = m_patience - 1;
        }
        if (m_patience == 0 && may == way::make) {
            m_patience = yield_patience;
            return yield_after_announcing(task);
        }
        keep_yield_requests(bits);
    }
    return true;
}

/// Takes the requests of other workers. Before the caller acts on a bit, it checks the state that the bit
/// announces.
announcer::word announcer::take_bits() noexcept {
    if (m_worker.deque.owner().pinned()) {
        // idle.S1: without membarrier the sleeper's fence orders only itself, so the push needs a fence.
        // take() is not enough: it acquires, and the sleeper's set() releases.
        std_atom::fence_sc();
    }
    return m_worker.deque.signal().take();
}

/// A yield request that cannot be followed here stays pending until a task yields. Announcements count down
/// to it, and loops and sync() check it.
void announcer::keep_yield_requests(word bits) noexcept {
    if ((bits & signal_word<std_atom>::yield_request) != 0) {
        m_worker.deque.signal().set(signal_word<std_atom>::yield_request);
    }
}

/// Serves the exposure policy and the requests of other workers after each insertion. Returns the bits that
/// it took; the caller handles `yield_request`.
announcer::word announcer::after_push() noexcept {
    using trip = signal_word<std_atom>;
    const auto bits = take_bits();
    if (m_team.settings().balance.exposure != exposure::on_demand) {
        // The contexts of one thread share this plain value, and ThreadSanitizer treats them as unrelated
        // threads.
        san::acquire(&m_exposer);
        const std::uint64_t n = m_exposer.after_push(load_now(), (bits & (trip::wanted | trip::expose)) != 0);
        san::release(&m_exposer);
        expose(n);
    } else if (PILFER_CHAOS_MAYBE(expose)) {
        expose_some();
    }
    answer(bits);
    return bits;
}

/// Reads the thieves' end, because a forced exposure may be in progress, and then its numbers count.
scales<std_atom> announcer::load_now() noexcept { return m_worker.deque.thief().scales(); }

/// Lets queued work run before the running frame, which takes `task` along, the task that it has just
/// announced. Work that runs next on this worker may never return to this deque. The frame would soon wait
/// for a task that no worker runs. Older tasks of the frame stay, and idle workers take them.
bool announcer::yield_after_announcing(task_word task) noexcept {
    std_atom::fence_sc(); // see yield_to_queued()
    if (!has_others_to_run()) {
        return true;
    }
    auto own = m_worker.deque.owner();
    const std::uint64_t weight = own.newest_weight();
    const bool mine = takes_back(own, task);
    if (mine && m_count_all) {
        m_worker.count.run_inline.add(); // it is announced once more
    }
    m_worker.yield_here();
    return !mine || detail::announce_weighted(this_worker(), task, weight, way::keep);
}

/// Exposes tasks if a thief wants work, and wakes a worker that sleeps for lack of it.
void announcer::answer(word bits) noexcept {
    using trip = signal_word<std_atom>;
    if ((bits & (trip::expose | trip::wanted)) == 0 || m_team.is_forked_child()) {
        return;
    }
    expose_some();
    if ((bits & trip::wanted) != 0 && m_worker.deque.thief().has_any()) {
        unsigned last = m_last_woken;
        if (m_team.idle().publish(m_worker.index, last, m_worker.deque.signal())) {
            m_worker.woke(last);
        }
        m_last_woken = last;
    }
}

void announcer::attend() noexcept {
    const auto bits = take_bits();
    answer(bits);
    if ((bits & signal_word<std_atom>::yield_request) != 0) {
        m_patience = yield_patience;
        yield_to_queued();
    }
}

/// Exposes as many of the oldest private tasks as the steal amount of the asking thief needs.
///
/// A thief that takes one task at a time comes back soon, and asking costs it about as much as a task of one
/// microsecond. So the on-demand rule exposes an eighth of the private tasks if nothing is shared. That keeps
/// the thief busy in flat parallelism, and is one or two tasks of a recursion. The most is 64, because each
/// of them that returns to the owner costs it a lock and a fence.
void announcer::expose_some() noexcept {
    const options& o = m_team.settings();
    const auto now = load_now();
    if (o.balance.steal.what == steal_amount::rule::one && o.balance.exposure == exposure::on_demand) {
        if (now.shared == 0) {
            expose(std::clamp<std::uint64_t>(now.own / 8, 1, 64));
        }
        return;
    }
    expose(balance::exposer::for_thief(balance::steal_batch(m_worker.requested.load(rlx)), o.balance.steal,
                                       now));
}

/// All workers get the yield request and one is needed, so most find nothing queued any more. A bit that was
/// taken while an earlier one was served is not lost: it is set again before the next context starts.
void announcer::yield_to_queued() noexcept {
    // Pairs with the fence in notify: a notifier that found the bit still set has pushed before this look.
    std_atom::fence_sc();
    if (has_others_to_run()) {
        m_worker.yield_here();
    }
}

/// True if the running frame should yield: work is queued, this worker retires, or a retired worker has left
/// tasks. False in a child of fork(), because what its parent had queued runs in the parent.
bool announcer::has_others_to_run() noexcept {
    return (m_worker.anything_queued(m_worker.level()) || m_worker.retires() || m_worker.anything_left()) &&
           !m_team.is_forked_child();
}

void announcer::expose(std::uint64_t n) noexcept {
    if (n == 0) {
        return;
    }
    const std::int64_t moved =
        m_worker.deque.owner().expose(static_cast<std::int64_t>(n), m_worker.marks.marking());
    if (moved > 0) {
        m_worker.count.exposures.add();
        m_worker.count.exposed_tasks.add(static_cast<std::uint64_t>(moved));
        m_worker.log.note(trace::what::expose, 0, static_cast<std::uint32_t>(moved));
    }
}

worker* announcer::reclaim_slow(task_word task) noexcept {
    const std::int64_t most = m_team.settings().balance.unshare == unshare::all ? INT64_MAX / 4 : 1;
    const task_word got = m_worker.deque.owner().pop_slow(most);
    if (got != task) {
        // Thieves take the oldest first: if `task` is gone, everything older is gone too.
        if (got != 0) {
            os::write_error("pilfer: internal error: a stranger's task was taken back\n");
            std::abort();
        }
        return nullptr;
    }
    if (m_count_all) {
        m_worker.count.run_inline.add();
    }
    if (m_team.settings().resume != resume::elsewhere || m_team.size() == 1 || m_team.is_forked_child()) {
        return &m_worker;
    }
    // Test mode: the rest of this join runs on another worker.
    m_worker.go_elsewhere();
    return this_worker();
}

task_word announcer::take_newest_spark() noexcept {
    auto own = m_worker.deque.owner();
    if (own.weighs() || own.private_size() <= 0) { // a task that is announced again would lose its weight
        return 0;
    }
    const task_word newest = own.peek();
    if (newest == 0 || (newest & kind_mask) != kind_spark) {
        return 0;
    }
    const task_word got = own.pop(1);
    if (got != 0 && m_count_all) {
        m_worker.count.run_inline.add();
    }
    return got;
}

/// Pushes a task that another worker announced. It is published, but not counted. The deque has room.
void announcer::insert(task_word task, std::uint64_t weight) noexcept {
    const bool heavy = weight != 1;
    if (!(heavy ? push_weighted(task, weight) : m_worker.deque.owner().push(task)) &&
        !PILFER_CHAOS_MAYBE(trip)) {
        return;
    }
    if (!heavy && m_worker.deque.owner().weighs()) {
        m_worker.deque.owner().weigh_newest();
    }
    keep_yield_requests(after_push()); // for the task that runs next
}

bool announcer::announce_weighted(task_word task, std::uint64_t weight, way may) noexcept {
    (void)push_weighted(task, weight);
    return follow_push(task, may);
}

/// Returns what push() returns.
bool announcer::push_weighted(task_word task, std::uint64_t weight) noexcept {
    auto own = m_worker.deque.owner();
    if (!own.can_weigh() && !make_scales(own)) {
        return own.push(task); // without memory it weighs 1, and the deque does not weigh
    }
    return own.push_weighted(task, weight);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
