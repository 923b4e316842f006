#include "strategy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace model {

unsigned seeded::pick(unsigned n, choice what) {
    switch (what) {
    case choice::read:
        // Half of all loads see the newest value: executions full of stale reads end in the slow paths only.
        return (m_dice.next() & 1) != 0 ? 0 : m_dice.below(n);
    case choice::odd:
        return m_dice.below(8) != 0 ? 0 : m_dice.below(n);
    default:
        return m_dice.below(n);
    }
}

unsigned random_walk::pick_thread(const std::array<std::uint8_t, 8>&, unsigned n, bool stays) {
    return stays && (m_dice.next() & 1) != 0 ? 0 : m_dice.below(n);
}

bool priorities::begin() {
    m_length = std::max(m_length, m_point);
    roll();
    m_point = 0;
    m_lowest = 0;
    m_changes = m_depth != 0 ? m_depth - 1 : 1 + m_dice.below(5);
    for (unsigned i = 0; i < m_priority.size(); ++i) {
        m_priority[i] = static_cast<int>(m_dice.next() >> 8) + 1;
    }
    for (unsigned i = 0; i < m_changes && i < m_change.size(); ++i) {
        m_change[i] = m_dice.below(m_length);
    }
    return true;
}

unsigned priorities::pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n, bool stays) {
    ++m_point;
    for (unsigned i = 0; i < m_changes && i < m_change.size(); ++i) {
        if (stays && m_change[i] == m_point) {
            m_priority[ready[0]] = m_lowest--;
        }
    }
    unsigned best = 0;
    for (unsigned i = 1; i < n; ++i) {
        if (m_priority[ready[i]] > m_priority[ready[best]]) {
            best = i;
        }
    }
    return best;
}

bool exhaustive::begin() {
    m_choices.clear();
    m_depth = 0;
    m_preemptions = 0;
    m_odd = 0;
    m_begun = false;
    if (m_first) {
        m_first = false;
        return true;
    }
    while (!m_path.empty() && m_path.back().taken + 1 >= m_path.back().options) {
        m_path.pop_back();
    }
    if (m_path.empty()) {
        return false;
    }
    ++m_path.back().taken;
    return true;
}

unsigned exhaustive::decide(unsigned n) {
    if (m_depth == m_path.size()) {
        m_path.push_back({0, static_cast<std::uint8_t>(n)});
    }
    return m_path[m_depth++].taken;
}

unsigned exhaustive::pick(unsigned n, choice what) {
    if (what == choice::other) {
        return decide(n);
    }
    const unsigned c = m_odd < m_most_odd ? decide(n) : 0;
    m_odd += c != 0 ? 1 : 0;
    return c;
}

unsigned exhaustive::pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n, bool stays) {
    const bool begins = !m_begun;
    m_begun = true;
    if (begins && m_first_thread) {
        return static_cast<unsigned>(std::find(ready.begin(), ready.begin() + n, *m_first_thread + 1) -
                                     ready.begin());
    }
    if (!stays) {
        return decide(n);
    }
    const unsigned c = m_preemptions < m_most_preemptions ? decide(n) : 0;
    m_preemptions += c != 0 ? 1 : 0;
    return c;
}

// ---- estimates --------------------------------------------------------------------------------

bool probe::begin() {
    if (m_worth > 0) { // not the first
        m_sum += m_worth;
        m_squares += m_worth * m_worth;
        m_executions += 1;
        for (budgeted* b : {&m_preemptions, &m_odd}) {
            b->usual_points += (b->points - b->usual_points) / (m_executions + 1);
        }
    }
    roll();
    m_worth = 1;
    m_preemptions.left = m_most_preemptions;
    m_odd.left = m_most_odd;
    m_preemptions.points = m_odd.points = 0;
    return true;
}

double probe::mean() const noexcept { return (m_sum + m_worth) / (m_executions + 1); }

double probe::standard_error() const noexcept {
    const double n = m_executions + 1;
    const double variance = (m_squares + m_worth * m_worth) / n - mean() * mean();
    return std::sqrt(std::max(0.0, variance) / n);
}

unsigned probe::pick_any(unsigned n) {
    m_worth *= n;
    return m_dice.below(n);
}

unsigned probe::pick_within(budgeted& b, unsigned n) {
    ++b.points;
    if (b.left == 0) {
        return 0;
    }
    const double unusual = std::min(0.5, b.left / std::max(1.0, b.usual_points));
    if (m_dice.next() >= unusual * 4294967296.0) {
        m_worth /= 1 - unusual;
        return 0;
    }
    --b.left;
    m_worth /= unusual;
    return 1 + pick_any(n - 1);
}

unsigned probe::pick(unsigned n, choice what) {
    return what == choice::other ? pick_any(n) : pick_within(m_odd, n);
}

unsigned probe::pick_thread(const std::array<std::uint8_t, 8>&, unsigned n, bool stays) {
    return stays ? pick_within(m_preemptions, n) : pick_any(n);
}

unsigned replay::pick(unsigned n, choice) {
    const unsigned c = m_at < m_given.size() ? m_given[m_at] : 0;
    ++m_at;
    return c < n ? c : 0;
}

namespace {

constexpr char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

} // namespace

std::string to_text(const std::vector<std::uint8_t>& choices) {
    std::string text;
    for (const std::uint8_t c : choices) {
        text += digits[std::min<std::size_t>(c, sizeof digits - 2)];
    }
    return text;
}

std::vector<std::uint8_t> from_text(const std::string& text) {
    std::vector<std::uint8_t> choices;
    for (const char c : text) {
        const char* at = std::strchr(digits, c);
        if (at == nullptr || c == '\0') {
            return {};
        }
        choices.push_back(static_cast<std::uint8_t>(at - digits));
    }
    return choices;
}

} // namespace model
