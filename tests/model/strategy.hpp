// Strategies: they choose the next thread and the value of each load. They are random, by priorities with a
// number of change points, exhaustive with bounds, or a recording.
//
// Source of the priorities: Burckhardt, Kothari, Musuvathi and Nagarakatte, "A randomized scheduler with
// probabilistic guarantees of finding bugs", ASPLOS 2010.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace model {

/// The kind of a choice. The first option is always the usual one: continue, read the newest, nothing odd
/// happens.
enum class choice : std::uint8_t { thread, read, odd, other };

/// splitmix64, then xorshift64*: cheap, and good enough to pick among a handful.
class dice {
public:
    void seed(std::uint64_t s) noexcept {
        s += 0x9e3779b97f4a7c15U;
        s = (s ^ (s >> 30)) * 0xbf58476d1ce4e5b9U;
        s = (s ^ (s >> 27)) * 0x94d049bb133111ebU;
        m_state = (s ^ (s >> 31)) | 1;
    }
    [[nodiscard]] std::uint32_t next() noexcept {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        return static_cast<std::uint32_t>((m_state * 0x2545f4914f6cdd1dU) >> 32);
    }
    [[nodiscard]] unsigned below(unsigned n) noexcept {
        return static_cast<unsigned>((std::uint64_t{next()} * n) >> 32);
    }

private:
    std::uint64_t m_state = 1;
};

class strategy {
public:
    virtual ~strategy() = default;
    /// Prepares the next execution. False: there is none.
    [[nodiscard]] virtual bool begin() = 0;
    /// Chooses among n > 1 options; the first is the usual one.
    [[nodiscard]] unsigned choose(unsigned n, choice what) {
        const unsigned c = pick(n, what);
        m_choices.push_back(static_cast<std::uint8_t>(c));
        return c;
    }
    /// Among the threads in `ready` (n > 1); `stays`: the first is the running one, which could continue.
    [[nodiscard]] unsigned choose_thread(const std::array<std::uint8_t, 8>& ready, unsigned n, bool stays) {
        const unsigned c = pick_thread(ready, n, stays);
        m_choices.push_back(static_cast<std::uint8_t>(c));
        return c;
    }
    /// The running thread waits for others.
    virtual void yields(unsigned) {}
    [[nodiscard]] const std::vector<std::uint8_t>& choices() const noexcept { return m_choices; }

protected:
    [[nodiscard]] virtual unsigned pick(unsigned n, choice what) = 0;
    [[nodiscard]] virtual unsigned pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n,
                                               bool stays) = 0;
    std::vector<std::uint8_t> m_choices;
};

/// Shared by the two random ones.
class seeded : public strategy {
public:
    explicit seeded(std::uint64_t seed) noexcept : m_seed(seed) {}

protected:
    /// The execution number and the seed determine everything.
    void roll() {
        m_dice.seed(m_seed * 0x100000001b3U + m_number++);
        m_choices.clear();
    }
    [[nodiscard]] unsigned pick(unsigned n, choice what) override;
    dice m_dice;

private:
    std::uint64_t m_seed;
    std::uint64_t m_number = 0;
};

/// Switches threads at half of all points.
class random_walk final : public seeded {
public:
    using seeded::seeded;
    [[nodiscard]] bool begin() final {
        roll();
        return true;
    }

private:
    [[nodiscard]] unsigned pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n,
                                       bool stays) final;
};

/// Random priorities that change at `depth` - 1 random points: finds every bug that needs `depth` orderings
/// with a probability that does not depend on the rest of the program. A depth of 0: from 2 to 6, anew for
/// each execution.
class priorities final : public seeded {
public:
    priorities(std::uint64_t seed, unsigned depth) noexcept : seeded(seed), m_depth(depth) {}
    [[nodiscard]] bool begin() final;
    void yields(unsigned thread) final { m_priority[thread] = m_lowest--; }

private:
    [[nodiscard]] unsigned pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n,
                                       bool stays) final;
    unsigned m_depth;
    unsigned m_changes = 0; // of this execution
    unsigned m_point = 0;
    unsigned m_length = 64; // of the longest execution so far, in points
    int m_lowest = 0;
    std::array<int, 8> m_priority{};
    std::array<unsigned, 8> m_change{};
};

/// All executions with at most so many preemptions and so many odd choices (stale reads, spurious wake-ups,
/// stores put before others), depth first. With `first` only those that begin with this thread.
class exhaustive final : public strategy {
public:
    exhaustive(unsigned preemptions, unsigned odd, std::optional<unsigned> first = std::nullopt) noexcept
        : m_most_preemptions(preemptions), m_most_odd(odd), m_first_thread(first) {}
    [[nodiscard]] bool begin() final;

private:
    struct decision {
        std::uint8_t taken;
        std::uint8_t options;
    };
    [[nodiscard]] unsigned pick(unsigned n, choice what) final;
    [[nodiscard]] unsigned pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n,
                                       bool stays) final;
    [[nodiscard]] unsigned decide(unsigned n);
    unsigned m_most_preemptions;
    unsigned m_most_odd;
    std::optional<unsigned> m_first_thread;
    unsigned m_preemptions = 0;
    unsigned m_odd = 0;
    bool m_first = true;
    bool m_begun = false; // a thread has been chosen in this execution
    std::size_t m_depth = 0;
    std::vector<decision> m_path;
};

/// How many executions the exhaustive search makes: each execution is worth as many as it
/// had choices, and the mean is the size of the tree. Usual choices are likelier by as much as there
/// are more of them, so that few executions are worth almost nothing and none is worth almost everything.
///
/// Source: Knuth, "Estimating the efficiency of backtrack programs", Mathematics of Computation 29, 1975.
class probe final : public seeded {
public:
    probe(std::uint64_t seed, unsigned preemptions, unsigned odd) noexcept
        : seeded(seed), m_most_preemptions(preemptions), m_most_odd(odd) {}
    [[nodiscard]] bool begin() final;
    /// Of the executions so far, the latest included.
    [[nodiscard]] double mean() const noexcept;
    [[nodiscard]] double standard_error() const noexcept;

private:
    struct budgeted {
        unsigned left = 0;
        unsigned points = 0;        // of this execution, with a choice
        double usual_points = 32.0; // of executions so far
    };
    [[nodiscard]] unsigned pick(unsigned n, choice what) final;
    [[nodiscard]] unsigned pick_thread(const std::array<std::uint8_t, 8>& ready, unsigned n,
                                       bool stays) final;
    [[nodiscard]] unsigned pick_within(budgeted& b, unsigned n);
    [[nodiscard]] unsigned pick_any(unsigned n);
    unsigned m_most_preemptions;
    unsigned m_most_odd;
    budgeted m_preemptions;
    budgeted m_odd;
    double m_worth = 0;
    double m_sum = 0;
    double m_squares = 0;
    double m_executions = 0;
};

/// The recording of another strategy.
class replay final : public strategy {
public:
    explicit replay(std::vector<std::uint8_t> choices) noexcept : m_given(std::move(choices)) {}
    [[nodiscard]] bool begin() final {
        const bool first = m_at == 0;
        m_choices.clear();
        return first;
    }

private:
    [[nodiscard]] unsigned pick(unsigned n, choice) final;
    [[nodiscard]] unsigned pick_thread(const std::array<std::uint8_t, 8>&, unsigned n, bool) final {
        return pick(n, choice::thread);
    }
    std::vector<std::uint8_t> m_given;
    std::size_t m_at = 0;
};

/// Choices as text and back: one character each, which a command line takes. Empty if `text` is none.
[[nodiscard]] std::string to_text(const std::vector<std::uint8_t>& choices);
[[nodiscard]] std::vector<std::uint8_t> from_text(const std::string& text);

} // namespace model
