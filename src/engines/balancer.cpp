// Balances the work of one run between ranks.
#include "engines/balancer.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace pilfer {
inline namespace v0 {
namespace detail {

balancer::balancer(transport& t, local_work& w, const settings& s)
    : m_transport(t), m_work(w), m_settings(s), m_random(s.seed * 0x9e37'79b9'7f4a'7c15u + t.rank() + 1) {
    for (unsigned bit = 1; bit < t.size(); bit *= 2) {
        if ((t.rank() ^ bit) < t.size()) { // a cube with corners missing is still connected: through rank 0
            m_lifelines.push_back(t.rank() ^ bit);
        }
    }
    m_registered.resize(m_lifelines.size());
}

bool balancer::step(std::uint64_t now) {
    if (m_heard != 0 && now - m_looked > m_settings.beat_every) {
        m_heard += now - m_looked; // this process was stopped: that is no silence of another one
    }
    m_looked = now;
    bool moved = false;
    constexpr int most = 256; // then this rank's own results must go out
    unsigned from = 0;
    std::vector<std::byte> bytes;
    for (int i = 0; i < most && m_transport.receive(from, bytes); ++i) {
        moved = true;
        ++m_mine.received;
        message m;
        try {
            m = decode(bytes,
                       {.ranks = m_transport.size(), .tasks = m_settings.tasks, .bounds = m_settings.bounds});
        } catch (const cluster::archive_error& e) {
            refuse(from, e.what());
        }
        handle(from, std::move(m), now);
    }
    if (m_stage != stage::balancing) {
        note_hunger(false, now);
        return settle() || moved;
    }
    moved |= send_drops();
    moved |= send_finished();
    moved |= feed_sleepers();
    moved |= ask(now);
    moved |= beat(now);
    return moved;
}

void balancer::refuse(unsigned from, const char* what) {
    throw balance_error("rank " + std::to_string(from) + " sent " + what);
}

void balancer::send(unsigned to, const message& m) {
    std::vector<std::byte> bytes = encode(m);
    ++m_mine.sent;
    ++m_mine.stats.messages;
    m_mine.stats.bytes += bytes.size();
    m_transport.send(to, std::move(bytes));
}

void balancer::handle(unsigned from, message&& m, std::uint64_t now) {
    if ((from + 1) % m_transport.size() == m_transport.rank()) {
        m_heard = now;
    }
    switch (m.kind) {
    case message_kind::ask:
        // After the end there is nothing to give, and no rank waits for the answer.
        if (m_stage == stage::balancing && !give(from, true)) {
            send(from, {.kind = message_kind::give, .flag = 1});
            if (m.flag != 0 && std::find(m_sleepers.begin(), m_sleepers.end(), from) == m_sleepers.end()) {
                m_sleepers.push_back(from);
            }
        }
        return;
    case message_kind::give: {
        bool sleeps = false;
        if (m.flag != 0) {
            const auto at = std::ranges::find(m_asked, from, &question::victim);
            if (at == m_asked.end()) {
                refuse(from, "an answer to no question");
            }
            sleeps = at->sleeps;
            m_asked.erase(at);
        }
        const auto line = std::find(m_lifelines.begin(), m_lifelines.end(), from);
        if (line != m_lifelines.end()) {
            // It promises by an empty answer, and forgets with a push.
            const auto at = static_cast<std::size_t>(line - m_lifelines.begin());
            m_registered[at] = m.flag == 0 ? false : m_registered[at] || (m.parcels.empty() && sleeps);
        }
        if (m.parcels.empty()) {
            return;
        }
        if (m_stage != stage::balancing) {
            refuse(from, "work after the end: of a task that is no part of the run");
        }
        m_has_tried = false;
        ++m_mine.stats.thefts;
        m_mine.stats.tasks_in += m.parcels.size();
        for (parcel& p : m.parcels) {
            m_work.start(std::move(p));
        }
        return;
    }
    case message_kind::results:
        if (m_stage != stage::balancing && !m.results.empty()) {
            refuse(from, "results after the end: of a task that is no part of the run");
        }
        for (parcel_result& r : m.results) {
            m_work.complete(std::move(r));
        }
        return;
    case message_kind::done:
        if (from != 0 || m_stage != stage::balancing) {
            refuse(from, "an end that is not its to say");
        }
        if (m.task != m_settings.root) {
            throw balance_error(
                "rank 0 and this rank are not in the same call: each rank has to make the same "
                "calls of its session in the same order");
        }
        m_end = std::move(m.results.front());
        m_stage = stage::ending;
        return;
    case message_kind::beat:
        return;
    case message_kind::bounds: // also after the end, so that all ranks end with the same value
        for (const parcel_result& r : m.results) {
            m_work.learn_bound(r);
        }
        return;
    case message_kind::parts:
        for (parcel_result& r : m.results) {
            m_work.keep_part(std::move(r));
        }
        return;
    case message_kind::drop: // also after the end, when it finds nothing
        for (const parcel_result& r : m.results) {
            m_work.drop(from, r.ticket);
        }
        return;
    }
}

void balancer::finish(parcel_result&& end) {
    (void)send_bounds(); // of the root
    m_stage = stage::ending;
    m_end = std::move(end);
    const message m{.kind = message_kind::done, .task = m_settings.root, .results = {m_end}};
    for (unsigned to = 1; to < m_transport.size(); ++to) {
        send(to, m);
    }
}

bool balancer::give(unsigned to, bool answer) {
    if (m_work.available() == 0) {
        return false;
    }
    message m{
        .kind = message_kind::give, .flag = static_cast<std::uint8_t>(answer), .parcels = m_work.take_half()};
    if (m.parcels.empty()) {
        return false; // this rank's own workers were faster
    }
    m_mine.stats.tasks_out += m.parcels.size();
    send(to, m);
    if (!answer) {
        m_transport.wake(to); // it is silent, and may have slept for long
    }
    return true;
}

/// One message for each rank that waits for results.
bool balancer::send_finished() {
    auto finished = m_work.take_finished();
    // Before the results, so that what a task has offered or ended is under way before the run can end.
    bool moved = send_bounds();
    moved |= send_parts();
    if (finished.empty()) {
        return moved;
    }
    std::sort(finished.begin(), finished.end(),
              [](const auto& a, const auto& b) { return a.origin < b.origin; });
    for (auto at = finished.begin(); at != finished.end();) {
        const std::uint32_t origin = at->origin;
        message m{.kind = message_kind::results};
        for (; at != finished.end() && at->origin == origin; ++at) {
            m.results.push_back(std::move(at->result));
        }
        if (origin != m_transport.rank()) {
            send(origin, m);
            continue;
        }
        for (parcel_result& r : m.results) { // a task that came back
            m_work.complete(std::move(r));
        }
    }
    return true;
}

/// To all ranks, because a parcel may be anywhere.
bool balancer::send_drops() {
    const message m{.kind = message_kind::drop, .results = m_work.take_unwanted()};
    if (m.results.empty()) {
        return false;
    }
    for (unsigned to = 0; to < m_transport.size(); ++to) {
        if (to != m_transport.rank()) {
            send(to, m);
        }
    }
    for (const parcel_result& r : m.results) { // a task that came back
        m_work.drop(m_transport.rank(), r.ticket);
    }
    return true;
}

/// To all other ranks at once: one hop. A tree of ranks would need messages after the end.
bool balancer::send_bounds() {
    const message m{.kind = message_kind::bounds, .results = m_work.take_bounds()};
    if (m.results.empty()) {
        return false;
    }
    for (unsigned to = 0; to < m_transport.size(); ++to) {
        if (to != m_transport.rank()) {
            send(to, m);
        }
    }
    return true;
}

bool balancer::send_parts() {
    const message m{.kind = message_kind::parts, .results = m_work.take_parts()};
    if (m.results.empty()) {
        return false;
    }
    send(0, m);
    return true;
}

bool balancer::feed_sleepers() {
    bool moved = false;
    while (!m_sleepers.empty() && give(m_sleepers.front(), false)) {
        m_sleepers.erase(m_sleepers.begin());
        moved = true;
    }
    return moved;
}

bool balancer::ask(std::uint64_t now) {
    const bool hungry = m_work.hungry();
    note_hunger(hungry, now);
    if (!hungry) {
        m_has_tried = false;
        return false;
    }
    if (awaits_answer(now)) {
        return false;
    }
    const auto to = [&](unsigned victim, bool sleeps) {
        m_asked.push_back({victim, sleeps, now});
        ++m_mine.stats.asks;
        send(victim, {.kind = message_kind::ask, .flag = static_cast<std::uint8_t>(sleeps)});
        m_transport.wake(victim); // it looks rarely while it has work
        return true;
    };
    if (!std::exchange(m_has_tried, true)) {
        if (const unsigned other = random_other(); !owes_answer(other)) {
            return to(other, false);
        }
    }
    for (std::size_t line = 0; line < m_lifelines.size(); ++line) {
        if (!m_registered[line] && !owes_answer(m_lifelines[line])) {
            return to(m_lifelines[line], true);
        }
    }
    return false; // silent until work is pushed here
}

void balancer::note_hunger(bool hungry, std::uint64_t now) {
    if (hungry != m_was_hungry) {
        m_was_hungry = hungry;
        m_mine.stats.idle_ns += hungry ? 0 : now - m_hungry_since;
        m_hungry_since = now;
    }
}

bool balancer::beat(std::uint64_t now) {
    const unsigned before = (m_transport.rank() + m_transport.size() - 1) % m_transport.size();
    if (m_transport.is_receiving()) {
        m_heard = now; // a large message takes its time, and its sender may not beat any longer
    }
    const std::uint64_t silence = m_settings.silent_after != 0 && m_heard != 0 ? now - m_heard : 0;
    if (silence > m_settings.silent_after) {
        throw balance_error("rank " + std::to_string(before) + " has been silent for " +
                            std::to_string(silence / 1'000'000'000) + " s");
    }
    // Open MPI may see the lost machine first, end the job, and name no rank.
    const bool is_late = silence > std::max(m_settings.silent_after / 2, 2 * m_settings.beat_every);
    if (!std::exchange(m_is_late, is_late) && is_late) {
        std::fprintf(stderr, "pilfer::cluster: nothing from rank %u for %llu s; the job ends after %llu s\n",
                     before, silence / 1'000'000'000ull, m_settings.silent_after / 1'000'000'000ull);
    }
    if (now < m_next_beat) {
        return false;
    }
    m_next_beat = now + m_settings.beat_every;
    send((m_transport.rank() + 1) % m_transport.size(), {.kind = message_kind::beat});
    return false; // no reason to look again soon
}

/// No rank sends anything once it knows the end. So the sums of what was sent are final in the first
/// exchange, and those of what was received grow until they are equal.
bool balancer::settle() {
    switch (m_stage) {
    case stage::ending:
        m_transport.begin_exchange(m_mine);
        m_stage = stage::exchanging;
        return true;
    case stage::exchanging: {
        if (!m_transport.end_exchange(m_tallies)) {
            return false;
        }
        std::uint64_t sent = 0;
        std::uint64_t received = 0;
        for (const rank_tally& t : m_tallies) {
            sent += t.sent;
            received += t.received;
        }
        m_stage = sent == received ? stage::leaving : stage::ending; // every rank decides alike
        return sent == received;
    }
    case stage::leaving: // what has been received may still have to be reported as sent
        if (m_transport.all_sent()) {
            m_stage = stage::over;
        }
        return false;
    case stage::balancing:
    case stage::over:
        break;
    }
    return false;
}

bool balancer::owes_answer(unsigned rank) const noexcept {
    return std::ranges::find(m_asked, rank, &question::victim) != m_asked.end();
}

/// True if the next rank is not asked yet. A victim that is late may have lost its CPU, or used its quota up.
/// Of several, only the last one may still be in time. While a message is arriving, it may be a large answer.
bool balancer::awaits_answer(std::uint64_t now) const {
    return !m_asked.empty() &&
           (now - m_asked.back().when < m_settings.answer_within || m_transport.is_receiving());
}

unsigned balancer::random_other() noexcept {
    m_random ^= m_random << 13;
    m_random ^= m_random >> 7;
    m_random ^= m_random << 17;
    const auto other = static_cast<unsigned>((m_random >> 32) % (m_transport.size() - 1));
    return other < m_transport.rank() ? other : other + 1;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
