#include "strategy.hpp"

#include <algorithm>
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

unsigned exhaustive::pick_thread(const std::array<std::uint8_t, 8>&, unsigned n, bool stays) {
    if (!stays) {
        return decide(n);
    }
    const unsigned c = m_preemptions < m_most_preemptions ? decide(n) : 0;
    m_preemptions += c != 0 ? 1 : 0;
    return c;
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
