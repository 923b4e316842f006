#include "balance/text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace balance {
namespace {

constexpr std::string_view known =
    "one, half, all-but-one, adaptive, P/Q; random, sticky, ring, nearest, longest; "
    "on-demand, always-public, threshold:N:M:A, doubling, short-eager:K, waiter-first";

constexpr std::array<std::string_view, 6> victims = {"", "random", "sticky", "ring", "nearest", "longest"};

[[noreturn]] void refuse(std::string_view text, std::string_view word, const std::string& why) {
    throw std::invalid_argument("pilfer: PILFER_BALANCE=\"" + std::string(text) + "\": \"" +
                                std::string(word) + "\" " + why);
}

[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char at) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto end = text.find(at);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

[[nodiscard]] std::optional<std::uint64_t> number(std::string_view text, std::uint64_t least,
                                                  std::uint64_t most) {
    std::uint64_t n = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (text.empty() || error != std::errc{} || stop != text.data() + text.size() || n < least || n > most) {
        return {};
    }
    return n;
}

struct fraction {
    std::uint32_t numerator;
    std::uint32_t denominator;
};

[[nodiscard]] std::optional<fraction> part(std::string_view text) {
    const auto halves = split(text, '/');
    if (halves.size() != 2) {
        return {};
    }
    const auto q = number(halves[1], 1, 65'536);
    const auto p = number(halves[0], 1, q.value_or(1));
    if (!p || !q) {
        return {};
    }
    return fraction{static_cast<std::uint32_t>(*p), static_cast<std::uint32_t>(*q)};
}

/// The options that one text names; the others stay automatic.
class reader {
public:
    explicit reader(std::string_view text) : m_text(text) {
        for (const std::string_view word : split(text, ',')) {
            m_word = word;
            if (!amount() && !whom() && !exposing()) {
                refuse(m_text, word, "is no policy; known are " + std::string(known));
            }
        }
    }
    balance_options named;

private:
    void once(bool automatic, const char* kind) const {
        if (!automatic) {
            refuse(m_text, m_word, std::string("is a second ") + kind);
        }
    }
    [[nodiscard]] bool amount() {
        using rule = steal_amount::rule;
        steal_amount a;
        if (m_word == "one") {
            a = steal_amount::one();
        } else if (m_word == "half") {
            a = steal_amount::half();
        } else if (m_word == "all-but-one") {
            a = steal_amount::all_but_one();
        } else if (m_word == "adaptive") {
            a = steal_amount::adaptive();
        } else if (!m_word.starts_with("threshold:") && m_word.find('/') != std::string_view::npos) {
            const auto f = part(m_word);
            if (!f) {
                refuse(m_text, m_word, "is no amount: P/Q needs 1 <= P <= Q <= 65536");
            }
            a = steal_amount::part(f->numerator, f->denominator);
        } else {
            return false;
        }
        once(named.steal.what == rule::automatic, "amount");
        named.steal = a;
        return true;
    }
    [[nodiscard]] bool whom() {
        for (std::size_t i = 1; i < victims.size(); ++i) {
            if (m_word == victims[i]) {
                once(named.victim == victim::automatic, "choice of victims");
                named.victim = static_cast<victim>(i);
                return true;
            }
        }
        return false;
    }
    [[nodiscard]] bool exposing() {
        const auto parts = split(m_word, ':');
        exposure e = exposure::automatic;
        if (m_word == "on-demand") {
            e = exposure::on_demand;
        } else if (m_word == "always-public") {
            e = exposure::always_public;
        } else if (m_word == "doubling") {
            e = exposure::doubling;
        } else if (m_word == "waiter-first") {
            e = exposure::waiter_first;
        } else if (parts[0] == "short-eager") {
            const auto k = parts.size() == 2 ? number(parts[1], 1, 65'536) : std::nullopt;
            if (!k) {
                refuse(m_text, m_word, "needs a number of tasks: short-eager:K with 1 <= K <= 65536");
            }
            e = exposure::short_eager;
            named.eager = *k;
        } else if (parts[0] == "threshold") {
            const std::uint64_t most = std::uint64_t{1} << 62;
            const auto n = parts.size() == 4 ? number(parts[1], 1, most) : std::nullopt;
            const auto m = parts.size() == 4 ? number(parts[2], 1, most) : std::nullopt;
            const auto a = parts.size() == 4 ? number(parts[3], 1, most) : std::nullopt;
            const auto f = parts.size() == 4 ? part(parts[3]) : std::nullopt;
            if (!n || !m || (!a && !f)) {
                refuse(m_text, m_word,
                       "needs three numbers: threshold:N:M:A with 1 <= N, M, A <= 2^62, or A = P/Q with "
                       "1 <= P <= Q <= 65536");
            }
            e = exposure::threshold;
            named.threshold = {*n, *m, a.value_or(0), f ? f->numerator : 1, f ? f->denominator : 2};
        } else {
            return false;
        }
        once(named.exposure == exposure::automatic, "exposure");
        named.exposure = e;
        return true;
    }

    std::string_view m_text;
    std::string_view m_word;
};

/// Takes over what `o` leaves open.
void fill(balance_options& o, const balance_options& from) {
    if (o.steal.what == steal_amount::rule::automatic) {
        o.steal = from.steal;
    }
    if (o.victim == victim::automatic) {
        o.victim = from.victim;
    }
    if (o.exposure == exposure::automatic) {
        o.exposure = from.exposure;
        if (from.exposure == exposure::threshold) {
            o.threshold = from.threshold;
        } else if (from.exposure == exposure::short_eager) {
            o.eager = from.eager;
        }
    }
}

} // namespace

balance_options defaults() {
    balance_options o;
    o.steal = steal_amount::part(1, 4);
    o.victim = victim::random;
    o.exposure = exposure::on_demand;
    return o;
}

balance_options named(std::string_view text) { return reader(text).named; }

void resolve(balance_options& o, const char* text) {
    if (text != nullptr) {
        fill(o, named(text));
    }
    fill(o, defaults());
}

std::string name(steal_amount a) {
    switch (a.what) {
    case steal_amount::rule::one:
        return "one";
    case steal_amount::rule::part:
        if (a == steal_amount::half()) {
            return "half";
        }
        return std::to_string(a.numerator) + "/" + std::to_string(a.denominator);
    case steal_amount::rule::all_but_one:
        return "all-but-one";
    case steal_amount::rule::adaptive:
        return "adaptive";
    case steal_amount::rule::automatic:
        break;
    }
    return "";
}

std::string_view name(victim v) { return victims[static_cast<std::size_t>(v)]; }

std::string name(const balance_options& o) {
    std::string text;
    const auto add = [&text](const std::string& word) {
        text += text.empty() || word.empty() ? word : "," + word;
    };
    add(name(o.steal));
    add(std::string(name(o.victim)));
    switch (o.exposure) {
    case exposure::on_demand:
        add("on-demand");
        break;
    case exposure::always_public:
        add("always-public");
        break;
    case exposure::threshold: {
        const auto& t = o.threshold;
        add("threshold:" + std::to_string(t.at_least) + ":" + std::to_string(t.below) + ":" +
            (t.count != 0 ? std::to_string(t.count)
                          : std::to_string(t.numerator) + "/" + std::to_string(t.denominator)));
        break;
    }
    case exposure::doubling:
        add("doubling");
        break;
    case exposure::short_eager:
        add("short-eager:" + std::to_string(o.eager));
        break;
    case exposure::waiter_first:
        add("waiter-first");
        break;
    case exposure::automatic:
        break;
    }
    return text;
}

} // namespace balance
} // namespace v0
} // namespace pilfer
