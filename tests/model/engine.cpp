#include "engine.hpp"

#include <cstdio>
#include <cstring>
#include <memory>

#include "context/switch.hpp"

namespace model {
namespace {

constexpr unsigned most_steps = 4'000;    // Of one execution; more is a loop without an end.
constexpr unsigned most_second_looks = 4; // Of one thread when no other can run.
constexpr std::size_t stack_bytes = std::size_t{64} * 1024;
constexpr std::size_t object_bytes = std::size_t{256} * 1024;

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

engine the_engine;

engine::engine() : m_pool(max_messages), m_object(object_bytes / sizeof(object_line)) {}
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
    m_ready = m_spinning = 0;
    m_gives_way_to.fill(0);
    for (unsigned i = 0; i < m_threads; ++i) {
        thread& t = m_thread[i];
        t.current.clear();
        t.has_acquired = t.has_released = t.owes = t.moved = t.stale = false;
        t.fresh = 0;
        t.second_looks = 0;
        becomes(i, state::ready);
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
        e.becomes(0, state::gone); // until the others have ended
        if (e.m_threads > 1) {
            e.hand_over();
        }
        e.becomes(0, state::ready);
        for (unsigned i = 1; i < e.m_threads; ++i) {
            e.m_thread[0].current.join(e.m_thread[i].current);
        }
        e.m_harness->finish(e.m_object.data());
        e.becomes(0, state::finished);
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
    e.becomes(i, state::finished);
    ++e.m_progress;
    e.hand_over();
    e.abandon(); // never reached: a finished thread is not chosen
}

void engine::never_again() {
    becomes(m_current, state::gone);
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

// ---- the next thread --------------------------------------------------------------------------

void engine::becomes(unsigned index, state s) noexcept {
    const unsigned self = 1U << index;
    m_thread[index].what = s;
    m_ready = s == state::ready ? m_ready | self : m_ready & ~self;
    m_spinning = s == state::spinning ? m_spinning | self : m_spinning & ~self;
}

int engine::next_thread(bool may_stay) {
    // In a ring, from the running one on if it may stay, else up to it.
    const unsigned first = m_current + (may_stay ? 0 : 1);
    const unsigned before = (1U << first) - 1;
    for (unsigned part : {m_spinning & ~before, m_spinning & before}) {
        for (; part != 0; part &= part - 1) {
            const auto i = static_cast<unsigned>(std::countr_zero(part));
            if (m_thread[i].progress != m_progress && (m_gives_way_to[i] & m_ready) == 0) {
                becomes(i, state::ready);
            }
        }
    }
    if ((m_ready & (m_ready - 1)) == 0) {
        return m_ready != 0 ? std::countr_zero(m_ready) : -1;
    }
    std::array<std::uint8_t, 8> ready{};
    unsigned n = 0;
    for (unsigned part : {m_ready & ~before, m_ready & before}) {
        for (; part != 0; part &= part - 1) {
            ready[n++] = static_cast<std::uint8_t>(std::countr_zero(part));
        }
    }
    return ready[m_strategy->choose_thread(ready, n, may_stay && ready[0] == m_current)];
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

/// The running thread cannot continue: another one runs.
void engine::hand_over() {
    const int next = next_thread(false);
    if (next >= 0) {
        switch_to(static_cast<unsigned>(next));
        return;
    }
    // A thread that waits in a loop of many steps may have looked before the last change, and wait since
    // after it.
    for (unsigned i = 1; i < m_threads; ++i) {
        thread& t = m_thread[i];
        if (t.what == state::spinning && t.second_looks < most_second_looks) {
            ++t.second_looks;
            becomes(i, state::ready);
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
        abandon(); // at rest: all sleepers may sleep
    }
    switch_to(0);
}

void engine::switch_to(unsigned next) {
    if (next == m_current) {
        return;
    }
    void** save = &m_thread[m_current].sp;
    m_current = next;
    for (std::uint8_t& threads : m_gives_way_to) {
        threads = static_cast<std::uint8_t>(threads & ~(1U << next));
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
    becomes(m_current, state::spinning);
    t.progress = t.stale ? m_progress - 1 : m_progress;
    t.stale = false;
    t.fresh = 4;
    // Fair: two that wait may not keep a third one from ever taking its next step (Musuvathi and Qadeer,
    // "Fair stateless model checking", PLDI 2008).
    m_gives_way_to[m_current] = static_cast<std::uint8_t>(m_ready);
    m_strategy->yields(m_current);
    if (++m_steps > most_steps) {
        fail("an execution without an end");
    }
    hand_over();
}

// ---- mutation and traces ----------------------------------------------------------------------

bool engine::mutated(access kind, const where& w) const noexcept {
    return m_mutation != nullptr && m_mutation->original.kind == kind &&
           same_place(m_mutation->original.place, w);
}

std::memory_order engine::collected_or_mutated(std::memory_order o, access kind, bool on_failure,
                                               const where& w) {
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
