#include "engine.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

#include "context/switch.hpp"

namespace model {
namespace {

constexpr unsigned most_steps = 4'000;    // of one execution; more is a loop without an end
constexpr unsigned most_second_looks = 4; // of one thread where nobody else can go on
constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
constexpr std::size_t object_bytes = std::size_t{256} * 1024;

[[nodiscard]] bool acquires(std::memory_order o) noexcept {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel ||
           o == std::memory_order_seq_cst || o == std::memory_order_consume;
}
[[nodiscard]] bool releases(std::memory_order o) noexcept {
    return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
[[nodiscard]] bool same_place(const where& a, const where& b) noexcept {
    return a.line() == b.line() && a.column() == b.column() && std::strcmp(a.file_name(), b.file_name()) == 0;
}

} // namespace

const char* to_string(access a) noexcept {
    switch (a) {
    case access::load:
        return "load";
    case access::store:
        return "store";
    case access::exchange:
        return "exchange";
    case access::compare:
        return "compare_exchange";
    case access::fetch:
        return "fetch";
    case access::fence:
        return "fence";
    case access::light:
        return "light_fence";
    case access::heavy:
        return "heavy_fence";
    }
    return "?";
}

const char* to_string(std::memory_order o) noexcept {
    switch (o) {
    case std::memory_order_relaxed:
        return "relaxed";
    case std::memory_order_consume:
        return "consume";
    case std::memory_order_acquire:
        return "acquire";
    case std::memory_order_release:
        return "release";
    case std::memory_order_acq_rel:
        return "acq_rel";
    case std::memory_order_seq_cst:
        return "seq_cst";
    }
    return "?";
}

engine& here() noexcept {
    static engine instance;
    return instance;
}

engine::engine() : m_pool(max_messages), m_object(object_bytes) {}
engine::~engine() = default;

std::byte* engine::stack_of(unsigned thread) noexcept {
    alignas(64) static std::byte stacks[max_threads][stack_bytes];
    return stacks[thread] + stack_bytes;
}

// ---- one execution ----------------------------------------------------------------------------

void engine::reset(const harness& h) {
    m_harness = &h;
    ++m_execution;
    m_threads = h.threads + 1;
    m_current = 0;
    m_locations = 0;
    m_messages = 0;
    m_steps = 0;
    m_progress = 0;
    m_order.clear();
    for (unsigned i = 0; i < m_threads; ++i) {
        thread& t = m_thread[i];
        t.current.clear();
        t.has_acquired = t.has_released = t.owes = t.moved = t.stale = false;
        t.fresh = 0;
        t.second_looks = 0;
        t.gives_way_to = 0;
        t.what = state::ready;
        t.started = false;
        t.file = "";
        t.line = 0;
    }
    m_thread[0].current.clock[0] = 1;
    m_result.failed = false;
    m_result.message.clear();
    m_result.choices.clear();
}

const result& engine::run(const harness& h, strategy& s, bool trace) {
    reset(h);
    m_strategy = &s;
    m_trace = trace;
    // The main thread's part runs here: before the others exist, and after they have ended.
    void* at = m_object.data();
    const auto whole = [](void* self) {
        auto& e = *static_cast<engine*>(self);
        e.m_harness->make(e.m_object.data());
        for (unsigned i = 1; i < e.m_threads; ++i) {
            e.m_thread[i].current = e.m_thread[0].current;
            e.m_thread[i].boundary = e.m_thread[0].current;
            e.m_thread[i].current.clock[i] = 1;
        }
        e.bump_clock(0);
        e.m_thread[0].what = state::gone; // until the others have ended
        if (e.m_threads > 1) {
            e.hand_over();
        }
        e.m_thread[0].what = state::ready;
        for (unsigned i = 1; i < e.m_threads; ++i) {
            e.m_thread[0].current.join(e.m_thread[i].current);
        }
        e.m_harness->finish(e.m_object.data());
        e.m_thread[0].what = state::finished;
        pilfer_v0_jump(e.m_main_sp, nullptr);
    };
    (void)at;
    m_thread[0].started = true;
    (void)pilfer_v0_start(&m_main_sp, stack_of(0), whole, this);
    m_all_steps += m_steps;
    if (m_result.failed) {
        m_result.choices = s.choices();
    }
    return m_result;
}

void engine::entry(void* self) noexcept {
    auto& e = *static_cast<engine*>(self);
    const unsigned i = e.m_current;
    e.m_harness->run(e.m_object.data(), i - 1);
    thread& t = e.m_thread[i];
    if (t.owes) {
        e.boundary(t);
    }
    t.what = state::finished;
    ++e.m_progress;
    e.hand_over();
    e.abandon(); // never reached: a finished thread is not chosen
}

void engine::never_again() {
    m_thread[m_current].what = state::gone;
    hand_over();
    abandon();
}

void engine::abandon() { pilfer_v0_jump(m_main_sp, nullptr); }

void engine::fail(const char* text) {
    if (!m_result.failed) {
        m_result.failed = true;
        m_result.message = text;
        if (m_current != 0) {
            m_result.message += " (thread " + std::to_string(m_current) + ")";
        }
        if (m_trace) {
            std::printf("!!!! %s\n", m_result.message.c_str());
        }
    }
    abandon();
}

void engine::note(const char* text, std::uint64_t value) {
    if (m_trace) {
        std::printf("     [%u] %s %lld\n", m_current, text, static_cast<long long>(value));
    }
}

// ---- who goes on ------------------------------------------------------------------------------

unsigned engine::ready_mask() const noexcept {
    unsigned mask = 0;
    for (unsigned i = 0; i < m_threads; ++i) {
        mask |= m_thread[i].what == state::ready ? 1U << i : 0U;
    }
    return mask;
}

int engine::next_thread(bool may_stay) {
    std::array<std::uint8_t, 8> ready{};
    unsigned n = 0;
    for (unsigned k = may_stay ? 0 : 1; k <= m_threads; ++k) {
        const unsigned i = (m_current + k) % m_threads;
        thread& t = m_thread[i];
        if (k == m_threads && may_stay) {
            break; // has been looked at as the first
        }
        if (t.what == state::spinning && t.progress != m_progress && (t.gives_way_to & ready_mask()) == 0) {
            t.what = state::ready;
        }
        if (t.what == state::ready) {
            ready[n++] = static_cast<std::uint8_t>(i);
        }
    }
    if (n == 0) {
        return -1;
    }
    const bool stays = may_stay && ready[0] == m_current;
    const unsigned c = n > 1 ? m_strategy->choose_thread(ready, n, stays) : 0;
    return ready[c];
}

std::string engine::who_waits() const {
    std::string text = "nobody can go on:";
    for (unsigned i = 1; i < m_threads; ++i) {
        const thread& t = m_thread[i];
        const char* file = std::strrchr(t.file, '/');
        const std::string place =
            std::string(file != nullptr ? file + 1 : t.file) + ":" + std::to_string(t.line);
        switch (t.what) {
        case state::parked:
            text += " thread " + std::to_string(i) + " sleeps (" + place + ");";
            break;
        case state::spinning:
            text += " thread " + std::to_string(i) + " waits (" + place + ");";
            break;
        case state::gone:
            text += " thread " + std::to_string(i) + " is in an endless task;";
            break;
        case state::finished:
            text += " thread " + std::to_string(i) + " has ended;";
            break;
        case state::ready:
            break;
        }
    }
    return text;
}

/// The running thread cannot go on: another one does.
void engine::hand_over() {
    const int next = next_thread(false);
    if (next >= 0) {
        switch_to(static_cast<unsigned>(next));
        return;
    }
    // Who waits in a loop of many steps may have looked before the last change, and waits since after it.
    for (unsigned i = 1; i < m_threads; ++i) {
        thread& t = m_thread[i];
        if (t.what == state::spinning && t.second_looks < most_second_looks) {
            ++t.second_looks;
            t.what = state::ready;
            switch_to(i);
            return;
        }
    }
    bool all = true;
    for (unsigned i = 1; i < m_threads; ++i) {
        all = all && m_thread[i].what == state::finished;
    }
    if (!all && !m_harness->at_rest(m_object.data())) {
        m_current = 0;
        fail(who_waits().c_str());
    }
    if (!all) {
        abandon(); // at rest: what sleeps may sleep
    }
    switch_to(0);
}

void engine::switch_to(unsigned next) {
    if (next == m_current) {
        return;
    }
    void** save = &m_thread[m_current].sp;
    m_current = next;
    for (unsigned i = 0; i < m_threads; ++i) {
        m_thread[i].gives_way_to &= ~(1U << next);
    }
    thread& t = m_thread[next];
    if (t.started) {
        (void)pilfer_v0_switch(save, t.sp, nullptr);
    } else {
        t.started = true;
        (void)pilfer_v0_start(save, stack_of(next), &engine::entry, this);
    }
}

void engine::point(const where& w) {
    if (m_current == 0) {
        return; // alone
    }
    thread& t = m_thread[m_current];
    t.file = w.file_name();
    t.line = w.line();
    if (++m_steps > most_steps) {
        fail("an execution without an end");
    }
    const int next = next_thread(true);
    if (next >= 0) {
        switch_to(static_cast<unsigned>(next));
    }
}

void engine::relax() {
    if (m_current == 0) {
        fail("the main part waits for somebody");
    }
    thread& t = m_thread[m_current];
    t.what = state::spinning;
    t.progress = t.stale ? m_progress - 1 : m_progress;
    t.stale = false;
    t.fresh = 4;
    // Fair: two that wait may not keep a third one from ever taking its next step (Musuvathi and Qadeer,
    // "Fair stateless model checking", PLDI 2008).
    t.gives_way_to = ready_mask();
    m_strategy->yields(m_current);
    if (++m_steps > most_steps) {
        fail("an execution without an end");
    }
    hand_over();
}

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

/// Directly behind `behind` in modification order.
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
/// behind it. What such a fence owed this thread is paid here.
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

/// membarrier: while it lasts every other thread executes a full fence at some point of its program. Where
/// that point is not marked by a light fence, the compiler may have moved stores of the thread behind it and
/// loads before it.
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
            if (i == me) { // one that has not begun yet is not left out: it begins behind the barrier
                continue;
            }
            point(w);
            if (t.moved && t.what != state::finished && me != 0 && m_strategy->choose(2, choice::odd) != 0) {
                // Stores behind it, loads before it.
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

void engine::park(std::uint16_t id, const void* address, std::uint64_t expected, where w) {
    point(w);
    location& l = at(id, address);
    thread& t = m_thread[m_current];
    t.moved = true;
    // The kernel reads the word under a lock that wakers take too: no older value than the last one that a
    // waker had stored before its call.
    view seen = t.current;
    if (l.has_parked) {
        seen.join_locations(l.parked);
    }
    const message* m = l.newest;
    if (m->at > seen.at[id] && m->older != nullptr && m->older->at >= seen.at[id] &&
        m_strategy->choose(2, choice::read) != 0) {
        m = m->older;
    }
    const bool sleeps = m->value == expected && m_strategy->choose(2, choice::odd) == 0;
    if (m_trace) {
        print(w, sleeps ? "sleeps while" : "does not sleep:", std::memory_order_relaxed, m->value, "");
    }
    if (!sleeps) {
        t.fresh = 1; // a loop around the call ends as soon as it can
        return;
    }
    t.what = state::parked;
    t.parked_on = id;
    hand_over();
}

void engine::unpark(std::uint16_t id, const void* address, where w) {
    point(w);
    // By address only: the word may be gone.
    for (unsigned i = 1; i < m_threads; ++i) {
        thread& t = m_thread[i];
        if (t.what == state::parked && m_location[t.parked_on].address == address) {
            t.what = state::ready;
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
        plain_write(p, address); // whoever still reads or writes it meanwhile races with the end
        p.execution = 0;
    }
}

// ---- mutation and traces ----------------------------------------------------------------------

bool engine::mutated(access kind, const where& w) const noexcept {
    return m_mutation != nullptr && m_mutation->original.kind == kind &&
           same_place(m_mutation->original.place, w);
}

std::memory_order engine::effective(std::memory_order o, access kind, bool on_failure, const where& w) {
    if (m_sites != nullptr) {
        m_sites->push_back({w, kind, on_failure, o});
    }
    if (m_mutation == nullptr || m_mutation->original.on_failure != on_failure || !mutated(kind, w)) {
        return o;
    }
    return m_mutation->weaker;
}

void engine::print(const where& w, const char* what, std::memory_order o, std::uint64_t v, const char* more) {
    const char* file = std::strrchr(w.file_name(), '/');
    std::printf("%4u [%u] %s:%u %s %s %lld%s\n", m_steps, m_current,
                file != nullptr ? file + 1 : w.file_name(), w.line(), what, to_string(o),
                static_cast<long long>(v), more);
}

} // namespace model
