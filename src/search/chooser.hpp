// A schedule as a sequence of choices, by a strategy or by a text.
//
// Values only: this file knows tasks by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct recorded_order;

/// splitmix64 (Steele, Lea and Flood 2014).
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

/// A choice that is not the usual one, which is 0: the running task goes on, or else the one that has waited
/// longest begins.
struct deviation {
    std::uint64_t at;    ///< The number of the choice, from 0.
    std::uint32_t index; ///< Above 0.
    friend bool operator==(const deviation&, const deviation&) = default;
};

/// Of the program that a schedule was found in, to notice that another one repeats it.
struct fingerprint {
    std::uint64_t choices = 0; ///< That the schedule made.
    std::uint32_t steps = 0;   ///< A hash of what the tasks did.
    friend bool operator==(const fingerprint&, const fingerprint&) = default;
};

/// What may fail by choice. At most `most` times in a schedule, of all kinds together.
struct chosen_faults {
    std::uint64_t most = 0;
    bool memory = false; ///< Allocations.
    bool io = false;     ///< System calls of pilfer::io.
    friend bool operator==(const chosen_faults&, const chosen_faults&) = default;
};

/// How one schedule is chosen.
struct plan {
    enum class kind {
        script,   ///< The usual choices but for `script`.
        random,   ///< Each choice by chance.
        pct,      ///< By priorities: Burckhardt and others, ASPLOS 2010.
        prefix,   ///< `prefix`, then the usual choices.
        recorded, ///< The order of `recorded`. Nothing is chosen.
    };
    kind how = kind::script;
    std::uint64_t seed = 0;
    unsigned depth = 1;                     ///< pct: one more than the changes of priority.
    std::uint64_t length = 1;               ///< pct: the number of choices to expect.
    std::uint64_t preemptions = UINT64_MAX; ///< The most that are chosen, except by a script.
    std::vector<deviation> script{};        ///< In ascending order.
    std::vector<std::uint32_t> prefix{};
    chosen_faults faults{};
    bool of_main = false; ///< The schedule of a whole program, not of a call of test::schedules().
    std::optional<fingerprint> found_in{};
    std::shared_ptr<const recorded_order> recorded{};
};

/// The longest text of a schedule.
inline constexpr std::size_t longest_text = 4096;
/// "d1:12.2-28": the choice 12 is 2, and the choice 12 + 28 is 1. "r1:SEED" stands for random, and
/// "c1:SEED:DEPTH:LENGTH" for pct. A bound of preemptions comes after one more colon. The fingerprint,
/// "@CHOICES:STEPS", comes last; before it "!2mi": at most two faults, also of memory and io. "main:" begins
/// the text for a whole program. A prefix has no text. That of a recording is another one: recorded.hpp.
[[nodiscard]] std::string text_of(const plan& p);
/// Throws std::invalid_argument that says what is wrong with the text.
[[nodiscard]] plan plan_of(std::string_view text);

/// A choice that was made.
struct choice {
    std::uint32_t index;
    std::uint32_t among;
    double rarity = 0; ///< The reciprocal of its probability, if that is not 1 / among.
};
/// Why the choices of a script or a prefix could not all be made; empty: they were.
[[nodiscard]] std::string misfit(const plan& p, const std::vector<choice>& taken);
/// `taken` without the usual choices.
[[nodiscard]] std::vector<deviation> deviations(const std::vector<choice>& taken);

/// Makes the choices of one schedule after the other.
class chooser {
public:
    void begin(const plan& p);
    [[nodiscard]] const plan& plan_of_schedule() const noexcept { return m_plan; }
    /// Returns which of `tasks` runs next. `runs`: another one than the first would preempt that one. Index 0
    /// must lead to an end.
    [[nodiscard]] std::uint32_t choose(std::span<const std::uint32_t> tasks, bool runs);
    /// Whether an operation fails that may: a choice between no, which is the usual one, and yes.
    [[nodiscard]] bool fault();
    /// The task lets others run: it asks for something again and again.
    void yields(std::uint32_t task);

    /// The choices so far, without those between fewer than two tasks.
    [[nodiscard]] const std::vector<choice>& taken() const noexcept { return m_taken; }

private:
    [[nodiscard]] std::uint32_t decide(std::span<const std::uint32_t> tasks);
    [[nodiscard]] std::uint32_t planned(std::size_t among);
    [[nodiscard]] bool is_by_chance() const noexcept;
    [[nodiscard]] std::uint32_t highest(std::span<const std::uint32_t> tasks) const noexcept;
    [[nodiscard]] std::uint64_t priority_of(std::uint32_t task) const noexcept;
    void lower(std::uint32_t task, std::uint64_t priority);
    [[nodiscard]] std::uint64_t draw() noexcept { return m_state = mixed(m_state); }

    plan m_plan;
    std::vector<choice> m_taken;
    std::uint64_t m_state = 0;
    std::uint64_t m_odds = 2; // by chance: one of so many faults happens
    std::uint64_t m_preempted = 0;
    std::size_t m_next = 0; // of the script
    struct change {
        std::uint64_t at;       // before this choice
        std::uint64_t priority; // by chance: the later one of two may be the higher one
    };
    std::vector<change> m_changes;        // pct, the last one first
    std::vector<std::uint64_t> m_lowered; // pct, by task; 0: it has the priority it began with
    std::uint64_t m_yielded = 0;          // pct: each yield has a lower priority than those before it
};

/// Goes through all schedules, depth first, and estimates how many there are.
class search_tree {
public:
    explicit search_tree(std::uint64_t preemptions) noexcept {
        m_next.how = plan::kind::prefix;
        m_next.preemptions = preemptions;
    }
    [[nodiscard]] const plan& next() const noexcept { return m_next; }
    /// The schedule next() has made these choices. False: it was the last one.
    [[nodiscard]] bool advance(const std::vector<choice>& taken);
    /// A schedule by chance has made these choices (Knuth, "Estimating the efficiency of backtrack programs",
    /// 1975).
    void probe(const std::vector<choice>& taken) noexcept;
    /// The mean over all probes; 0 without one.
    [[nodiscard]] double estimate() const noexcept;

private:
    plan m_next;
    double m_sum = 0;
    std::uint64_t m_probes = 0;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
