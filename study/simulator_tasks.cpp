// The tasks of a simulated program: announcing, waiting, ending.
#include <algorithm>
#include <utility>

#include "simulation.hpp"

namespace study::simulated {

/// Until simulated time passes.
void simulation::run_frame(unsigned i) {
    worker& w = m_workers[i];
    busy(i, true);
    while (m_spent == 0) {
        const std::uint32_t f = w.current;
        if (m_frames[f].syncing) {
            if (!synced(i, f)) {
                return;
            }
            continue;
        }
        const std::uint64_t place = m_frames[f].place;
        const step s = m_program.next(m_frames[f].task, m_frames[f].place);
        switch (s.what) {
        case step::kind::compute:
            m_result.work += s.value;
            m_spent += s.value;
            break;
        case step::kind::announce:
            ++m_frames[f].pending;
            announce(i, s.value, f);
            break;
        case step::kind::fork:
            ++m_open;
            announce(i, s.value, no_frame);
            break;
        case step::kind::spawn:
            ++m_open;
            announce(i, f, is_frame);
            enter(i, {s.value, no_frame});
            break;
        case step::kind::call:
            enter(i, {s.value, no_frame}, f);
            break;
        case step::kind::sync:
        case step::kind::await:
            m_frames[f].syncing = true;
            m_frames[f].awaits = s.what == step::kind::await ? s.value : nothing;
            answer(i); // attend()
            break;
        case step::kind::lock:
            if (!takes(i, m_locks[s.value], place)) {
                return;
            }
            break;
        case step::kind::unlock:
            gives(i, m_locks[s.value]);
            break;
        case step::kind::end:
            if (!end_frame(i)) {
                return;
            }
            break;
        }
    }
    resume_at(i, phase::running);
}

/// push, and tripped() if a thief asks or the policy wants to see every push.
void simulation::announce(unsigned i, std::uint64_t task, std::uint32_t parent) {
    worker& w = m_workers[i];
    w.deque.push({task, parent});
    w.fruitful = true;
    ++m_result.announced;
    touched(i);
    m_spent += m_price.spawn;
    after_push(i);
}

/// A shared task is reclaimed by the slow path. If every push takes that path, its price is paid already.
void simulation::pop_newest(unsigned i) {
    if (m_workers[i].deque.pop() && m_how.policy.exposure == pilfer::exposure::on_demand) {
        m_spent += m_price.slow_path;
    }
}

/// The tasks that the policy shares after a push, and the answer to a thief that has asked.
void simulation::after_push(unsigned i) {
    worker& w = m_workers[i];
    m_ready.put(i, true);
    if (m_how.policy.exposure != pilfer::exposure::on_demand) {
        m_spent += m_price.slow_path;
        expose(i,
               w.exposer.after_push(w.deque.load(), !m_sleepers.empty() || w.asked_by != worker_set::nobody));
    }
    answer(i);
}

/// scope::sync(), future::get(). True: continue with w.current, which may be a child.
bool simulation::synced(unsigned i, std::uint32_t f) {
    const std::uint64_t awaits = m_frames[f].awaits;
    if (awaits == nothing ? m_frames[f].pending == 0 : m_ended[awaits]) {
        m_frames[f].syncing = false;
        return true;
    }
    if (on_top(i, f)) {
        return true;
    }
    if (awaits != nothing) {
        m_frames[f].next_waiter = std::exchange(m_waiters[awaits], f);
    }
    suspend(i);
    return false;
}

/// The frame that runs waits.
void simulation::suspend(unsigned i) {
    m_frames[m_workers[i].current].suspended = true;
    ++m_result.suspends;
    m_workers[i].current = no_frame;
    busy(i, false);
    m_spent += m_price.context_switch;
    resume_at(i, phase::looking);
}

/// mutex::lock(). False: the frame waits, and comes to `place` again when it is called.
bool simulation::takes(unsigned i, lock& l, std::uint64_t place) {
    const std::uint32_t f = m_workers[i].current;
    const bool was_called = l.called && l.waiting.front() == f;
    if (l.held) {
        m_frames[f].place = place;
        if (was_called) {
            l.called = false;
        } else {
            l.waiting.push_back(f);
        }
        suspend(i);
        return false;
    }
    l.held = true;
    if (was_called) {
        l.called = false;
        l.waiting.pop_front();
    }
    m_spent += std::exchange(l.last, i) != i ? m_price.remote_line : 0;
    return true;
}

/// mutex::unlock(): the first waiter becomes ready, and this frame goes on.
void simulation::gives(unsigned i, lock& l) {
    l.held = false;
    if (!l.waiting.empty() && !l.called) {
        l.called = true;
        m_workers[i].deque.push({l.waiting.front(), is_frame});
        after_push(i);
        touched(i);
    }
}

/// Begins on top of `f` the task that `f` waits for, if that is the newest of its own.
bool simulation::on_top(unsigned i, std::uint32_t f) {
    worker& w = m_workers[i];
    if (w.deque.empty()) {
        return false;
    }
    answer(i); // attend(), between the children
    const entry e = w.deque.newest();
    const std::uint64_t awaits = m_frames[f].awaits;
    if (awaits == nothing ? e.parent != f : e.parent != no_frame || e.task != awaits) {
        return false;
    }
    pop_newest(i);
    touched(i);
    if (awaits == nothing) {
        --m_frames[f].pending;
    }
    enter(i, {e.task, no_frame}, f);
    return true;
}

/// leave_context(). True: continue with w.current.
bool simulation::end_frame(unsigned i) {
    worker& w = m_workers[i];
    const std::uint32_t f = w.current;
    const frame ended = m_frames[f];
    m_free_frames.push_back(f);
    w.current = no_frame;
    std::uint32_t next = no_frame;
    if (ended.task < m_ended.size()) {
        next = release_waiters(i, ended.task);
    }
    if (ended.counted) {
        frame& parent = m_frames[ended.parent];
        if (--parent.pending == 0 && parent.suspended) {
            next = ended.parent;
        }
    } else if (!ended.on_parent || !m_ended.empty()) {
        --m_open;
    }
    if (ended.on_parent) {
        if (next != no_frame) {
            w.deque.push({next, is_frame});
            after_push(i);
        }
        w.current = ended.parent;
        touched(i);
        return true;
    }
    if (next != no_frame) {
        m_frames[next].suspended = false;
        w.current = next;
        m_spent += m_price.context_switch;
        return true;
    }
    busy(i, false);
    resume_at(i, phase::looking);
    return false;
}

/// One of those that awaited `task`, or no_frame. The others are queued.
std::uint32_t simulation::release_waiters(unsigned i, std::uint64_t task) {
    m_ended[task] = true;
    const std::uint32_t first = m_waiters[task];
    if (first != no_frame) {
        for (std::uint32_t f = m_frames[first].next_waiter; f != no_frame; f = m_frames[f].next_waiter) {
            m_workers[i].deque.push({f, is_frame});
            after_push(i);
        }
        touched(i);
    }
    return first;
}

/// Begins a task, on the stack of `below` if there is one; or resumes a frame.
void simulation::enter(unsigned i, const entry& e, std::uint32_t below) {
    if (e.parent == is_frame) {
        m_frames[e.task].suspended = false;
        m_workers[i].current = static_cast<std::uint32_t>(e.task);
        return;
    }
    const bool on_parent = below != no_frame;
    const frame begun{
        e.task,    0,     nothing, on_parent ? below : e.parent, 0, no_frame, e.parent != no_frame,
        on_parent, false, false};
    std::uint32_t f = 0;
    if (m_free_frames.empty()) {
        f = static_cast<std::uint32_t>(m_frames.size());
        m_frames.push_back(begun);
    } else {
        f = m_free_frames.back();
        m_free_frames.pop_back();
        m_frames[f] = begun;
    }
    m_workers[i].current = f;
    ++m_result.tasks;
    if (m_arrivals > 0 && e.parent == no_frame) {
        m_result.waited += m_now + m_spent - e.task;
    }
}

} // namespace study::simulated
