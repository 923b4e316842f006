// Memory of one execution: messages and views, fences, membarrier, the kernel's sleep, races. README.md.
#include <string>

#include "engine.hpp"

namespace model {
namespace {

[[nodiscard]] bool acquires(std::memory_order o) noexcept {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel ||
           o == std::memory_order_seq_cst || o == std::memory_order_consume;
}
[[nodiscard]] bool releases(std::memory_order o) noexcept {
    return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}

} // namespace

// ---- memory -----------------------------------------------------------------------------------

std::uint16_t engine::add_location(const void* address, std::uint64_t value) {
    if (m_locations == max_locations) {
        fail("too many locations for the checker");
    }
    const auto id = static_cast<std::uint16_t>(m_locations++);
    location& l = m_location[id];
    l.address = address;
    l.alive = true;
    l.maker = static_cast<std::uint8_t>(m_current);
    l.made = m_thread[m_current].current.clock[m_current];
    l.has_parked = false;
    message& m = m_pool[m_messages++];
    m.value = value;
    m.older = nullptr;
    m.at = 0;
    m.author = l.maker;
    m.update = false;
    m.releases = false;
    l.newest = &m;
    return id;
}

void engine::remove_location(std::uint16_t id, const void* address) noexcept {
    if (id < m_locations && m_location[id].address == address) {
        m_location[id].alive = false;
    }
}

engine::location& engine::at(std::uint16_t id, const void* address) {
    if (id >= m_locations || m_location[id].address != address || !m_location[id].alive) {
        fail("use after free: an atomic whose life has ended");
    }
    location& l = m_location[id];
    if (m_thread[m_current].current.clock[l.maker] < l.made) {
        fail("data race: an atomic is used whose construction did not happen before");
    }
    return l;
}

message* engine::read_choice(location& l, std::uint16_t id) {
    thread& t = m_thread[m_current];
    if (t.fresh > 0) {
        --t.fresh;
        return l.newest;
    }
    const stamp least = t.current.at[id];
    unsigned n = 1;
    for (const message* m = l.newest; m->at > least && m->older != nullptr && m->older->at >= least;
         m = m->older) {
        ++n;
    }
    unsigned c = n > 1 ? m_strategy->choose(n, choice::read) : 0;
    t.stale = t.stale || c != 0;
    message* m = l.newest;
    for (; c > 0; --c) {
        m = m->older;
    }
    return m;
}

/// The newest message, or rarely an older one that no other update follows.
message* engine::update_choice(location& l, std::uint16_t id) {
    const stamp least = m_thread[m_current].current.at[id];
    message* newer = l.newest;
    message* m = newer->older;
    if (m_current == 0 || newer->update || m == nullptr || m->at < least || newer->at - m->at < 2) {
        return newer;
    }
    if (m_strategy->choose(2, choice::odd) == 0) {
        return newer;
    }
    m_thread[m_current].stale = true;
    return m;
}

void engine::acquire_from(const message& m, std::uint16_t id, std::memory_order o) {
    thread& t = m_thread[m_current];
    if (m.at > t.current.at[id]) {
        t.current.at[id] = m.at;
    }
    if (!m.releases) {
        return;
    }
    if (acquires(o)) {
        t.current.join(m.released);
    } else if (t.has_acquired) {
        t.acquired.join(m.released);
    } else {
        t.acquired = m.released;
        t.has_acquired = true;
    }
}

message* engine::new_message(std::uint16_t, std::uint64_t v, std::memory_order) {
    if (m_messages == max_messages) {
        fail("an execution without an end");
    }
    message* m = &m_pool[m_messages++];
    m->value = v;
    m->author = static_cast<std::uint8_t>(m_current);
    m->update = false;
    m->releases = false;
    return m;
}

/// Directly after `behind` in modification order.
void engine::insert(location& l, std::uint16_t id, message* m, message* behind) {
    m->older = behind;
    if (behind == l.newest) {
        if (behind->at > INT16_MAX - 2 * stamp_gap) {
            fail("an execution without an end: too many stores to one location");
        }
        m->at = static_cast<stamp>(behind->at + stamp_gap);
        l.newest = m;
    } else {
        message* next = l.newest;
        while (next->older != behind) {
            next = next->older;
        }
        m->at = static_cast<stamp>(behind->at + (next->at - behind->at) / 2);
        next->older = m;
    }
    m_thread[m_current].current.at[id] = m->at;
}

message* engine::add_update(location& l, std::uint16_t id, message* read, std::uint64_t v,
                            std::memory_order o) {
    thread& t = m_thread[m_current];
    message* m = new_message(id, v, o);
    insert(l, id, m, read);
    m->update = true;
    // A release sequence runs on through read-modify-writes.
    if (read->releases) {
        m->released = read->released;
        m->releases = true;
    }
    const view* own = releases(o) ? &t.current : (t.has_released ? &t.released : nullptr);
    if (own != nullptr) {
        if (m->releases) {
            m->released.join(*own);
        } else {
            m->released = *own;
            m->releases = true;
        }
    }
    if (releases(o)) {
        bump_clock(m_current);
    }
    return m;
}

void engine::bump_clock(unsigned index) {
    stamp& c = m_thread[index].current.clock[index];
    if (c < INT16_MAX) {
        ++c;
    }
}

std::uint64_t engine::load(std::uint16_t id, const void* address, std::memory_order o, where w) {
    point(w);
    o = effective(o, access::load, false, w);
    location& l = at(id, address);
    if (o == std::memory_order_seq_cst) {
        sc_fence(m_thread[m_current], m_current);
    }
    m_thread[m_current].moved = true;
    const message* m = read_choice(l, id);
    acquire_from(*m, id, o);
    if (m_trace) {
        std::string more = m == l.newest ? "" : " stale, the newest is " + std::to_string(l.newest->value);
        print(w, "load", o, m->value, more.c_str());
    }
    return m->value;
}

void engine::store(std::uint16_t id, const void* address, std::uint64_t v, std::memory_order o, where w) {
    point(w);
    o = effective(o, access::store, false, w);
    location& l = at(id, address);
    thread& t = m_thread[m_current];
    if (o == std::memory_order_seq_cst) {
        sc_fence(t, m_current);
    }
    t.moved = true;
    if (l.newest->value != v) {
        ++m_progress;
    }
    // Rarely before stores of others that this thread has not seen.
    message* behind = l.newest;
    if (m_current != 0 && behind->at > t.current.at[id] && !behind->update &&
        behind->older->at >= t.current.at[id] && behind->at - behind->older->at >= 2 &&
        m_strategy->choose(2, choice::odd) != 0) {
        behind = behind->older;
    }
    message* m = new_message(id, v, o);
    insert(l, id, m, behind);
    if (releases(o)) {
        m->released = t.current;
        m->releases = true;
        bump_clock(m_current);
    } else if (t.has_released) {
        m->released = t.released;
        m->releases = true;
    }
    if (m_trace) {
        print(w, "store", o, v, m == l.newest ? "" : " before the newest");
    }
}

bool engine::compare(std::uint16_t id, const void* address, std::uint64_t& expected, std::uint64_t desired,
                     std::memory_order success, std::memory_order failure, bool weak, where w) {
    point(w);
    success = effective(success, access::compare, false, w);
    failure = effective(failure, access::compare, true, w);
    location& l = at(id, address);
    thread& t = m_thread[m_current];
    if (success == std::memory_order_seq_cst) {
        sc_fence(t, m_current);
    }
    message* read = update_choice(l, id);
    bool same = read->value == expected;
    if (same && m_current != 0) {
        // It may fail by a stale value, the weak one also by chance.
        message* older = read->older;
        const bool other = older != nullptr && older->at >= t.current.at[id] && older->value != expected;
        if ((weak || other) && m_strategy->choose(2, choice::odd) != 0) {
            same = false;
            read = other ? older : read;
            t.stale = true;
        }
    }
    if (!same) {
        acquire_from(*read, id, failure);
        if (m_trace) {
            print(w, "compare_exchange fails", failure, read->value, "");
        }
        expected = read->value;
        boundary(t);
        return false;
    }
    acquire_from(*read, id, success);
    (void)add_update(l, id, read, desired, success);
    if (desired != read->value) {
        ++m_progress;
        t.fresh = 0;
    }
    boundary(t);
    if (m_trace) {
        print(w, "compare_exchange", success, read->value, (" := " + std::to_string(desired)).c_str());
    }
    return true;
}

// ---- fences -----------------------------------------------------------------------------------

void engine::sc_fence(thread& t, unsigned index) {
    if (t.has_acquired) {
        t.current.join(t.acquired);
        t.has_acquired = false;
    }
    t.current.join_locations(m_order);
    m_order.join_locations(t.current);
    t.released = t.current;
    t.has_released = true;
    bump_clock(index);
}

/// The compiler may not move accesses across this point, so a heavy fence of another thread falls before or
/// after it. The debt of such a fence to this thread is paid here.
void engine::boundary(thread& t) {
    if (t.owes) {
        t.current.join_locations(t.owed);
        t.owes = false;
    }
    if (t.moved) {
        t.boundary = t.current;
        t.moved = false;
    }
}

void engine::fence(std::memory_order o, where w) {
    point(w);
    o = effective(o, access::fence, false, w);
    thread& t = m_thread[m_current];
    if (o == std::memory_order_seq_cst) {
        sc_fence(t, m_current);
    } else {
        if (acquires(o) && t.has_acquired) {
            t.current.join(t.acquired);
            t.has_acquired = false;
        }
        if (releases(o)) {
            t.released = t.current;
            t.has_released = true;
            bump_clock(m_current);
        }
    }
    t.moved = true;
    boundary(t);
    if (m_trace) {
        print(w, "fence", o, 0, "");
    }
}

void engine::light_fence(where w) {
    if (mutated(access::light, w)) {
        return;
    }
    if (m_sites != nullptr) {
        m_sites->push_back({w, access::light, false, std::memory_order_seq_cst});
    }
    boundary(m_thread[m_current]);
}

/// membarrier: while it lasts every other thread executes a full fence at some point of its program. If no
/// light fence marks that point, the compiler may have moved the thread's stores to after it and loads to
/// before it.
void engine::heavy_fence(where w) {
    point(w);
    if (m_sites != nullptr) {
        m_sites->push_back({w, access::heavy, false, std::memory_order_seq_cst});
    }
    if (m_trace) {
        print(w, "heavy_fence", std::memory_order_seq_cst, 0, "");
    }
    const unsigned me = m_current;
    sc_fence(m_thread[me], me);
    if (!mutated(access::heavy, w)) {
        for (unsigned i = 1; i < m_threads; ++i) {
            thread& t = m_thread[i];
            if (i == me) { // includes a thread that has not begun: it begins after the barrier
                continue;
            }
            point(w);
            if (t.moved && t.what != state::finished && me != 0 && m_strategy->choose(2, choice::odd) != 0) {
                // Stores after it, loads before it.
                if (t.owes) {
                    t.owed.join_locations(m_order);
                } else {
                    t.owed = m_order;
                    t.owes = true;
                }
                m_order.join_locations(t.boundary);
            } else {
                sc_fence(t, i);
                t.moved = true;
                boundary(t);
            }
        }
        point(w);
        sc_fence(m_thread[me], me);
    }
    m_thread[me].moved = true;
    boundary(m_thread[me]);
}

// ---- sleeping ---------------------------------------------------------------------------------

/// The kernel looks at two words one after the other. A wake-up of the first in between is as good as a
/// change of it before both.
void engine::park(std::initializer_list<slept_on> words, where w) {
    point(w);
    thread& t = m_thread[m_current];
    t.moved = true;
    bool same = true;
    std::uint64_t value = 0;
    for (const slept_on& word : words) {
        location& l = at(word.id, word.address);
        // The kernel reads the word under a lock that wakers take too: no older value than the last one that
        // a waker had stored before its call.
        view seen = t.current;
        if (l.has_parked) {
            seen.join_locations(l.parked);
        }
        const message* m = l.newest;
        if (m->at > seen.at[word.id] && m->older != nullptr && m->older->at >= seen.at[word.id] &&
            m_strategy->choose(2, choice::read) != 0) {
            m = m->older;
        }
        value = m->value;
        same = value == word.expected;
        if (!same) {
            break;
        }
    }
    const bool sleeps = same && m_strategy->choose(2, choice::odd) == 0;
    if (m_trace) {
        print(w, sleeps ? "sleeps while" : "does not sleep:", std::memory_order_relaxed, value, "");
    }
    if (!sleeps) {
        t.fresh = 1; // a loop around the call ends as soon as it can
        return;
    }
    becomes(m_current, state::parked);
    t.parked_on = {words.begin()->id, (words.end() - 1)->id};
    hand_over();
}

void engine::unpark(std::uint16_t id, const void* address, where w) {
    point(w);
    // By address only: the word may be gone.
    for (unsigned i = 1; i < m_threads; ++i) {
        thread& t = m_thread[i];
        const auto is_on = [&](std::uint16_t word) { return m_location[word].address == address; };
        if (t.what == state::parked && (is_on(t.parked_on[0]) || is_on(t.parked_on[1]))) {
            becomes(i, state::ready);
            t.fresh = 1;
            break;
        }
    }
    if (id < m_locations && m_location[id].address == address) {
        location& l = m_location[id];
        if (!l.has_parked) {
            l.parked.clear();
            l.has_parked = true;
        }
        l.parked.join_locations(m_thread[m_current].current);
    }
    ++m_progress;
    if (m_trace) {
        print(w, "wakes", std::memory_order_relaxed, 0, "");
    }
}

// ---- plain memory -----------------------------------------------------------------------------

void engine::plain_start(plain_state& p) noexcept {
    p.execution = m_execution;
    p.writer = static_cast<std::uint8_t>(m_current);
    p.written = m_thread[m_current].current.clock[m_current];
    p.read.fill(0);
}

void engine::plain_read(plain_state& p, const void*) {
    if (p.execution != m_execution) {
        fail("use after free: a variable whose life has ended");
    }
    const view& mine = m_thread[m_current].current;
    if (mine.clock[p.writer] < p.written) {
        fail("data race: a plain variable is read while another thread writes it");
    }
    p.read[m_current] = mine.clock[m_current];
}

void engine::plain_write(plain_state& p, const void*) {
    if (p.execution != m_execution) {
        fail("use after free: a variable whose life has ended");
    }
    const view& mine = m_thread[m_current].current;
    if (mine.clock[p.writer] < p.written) {
        fail("data race: a plain variable is written by two threads");
    }
    for (unsigned i = 0; i < m_threads; ++i) {
        if (mine.clock[i] < p.read[i]) {
            fail("data race: a plain variable is written while another thread reads it");
        }
    }
    p.writer = static_cast<std::uint8_t>(m_current);
    p.written = mine.clock[m_current];
    p.read.fill(0);
}

void engine::plain_end(plain_state& p, const void* address) {
    if (p.execution == m_execution) {
        plain_write(p, address); // a thread that still reads or writes it meanwhile races with the end
        p.execution = 0;
    }
}

} // namespace model
