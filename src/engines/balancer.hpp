// Balances the work of one run between ranks. It knows no MPI, no threads and no clock.
//
// Lifelines: Saraswat, Kambadur, Kodali, Grove and Krishnamoorthy, "Lifeline-based global load balancing",
// PPoPP 2011. States and the argument: README.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/local_work.hpp"
#include "cluster/transport.hpp"
#include "cluster/wire.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class balancer {
public:
    struct settings {
        std::uint64_t seed = 1;                     ///< of the choice of victims
        std::uint32_t tasks = 0;                    ///< types of tasks in this program
        std::uint32_t root = 0;                     ///< the type of the run's task
        std::uint32_t bounds = 0;                   ///< how many this program has
        std::uint64_t beat_every = 1'000'000'000;   ///< nanoseconds
        std::uint64_t answer_within = 2'000'000;    ///< nanoseconds; then another rank is asked, too
        std::uint64_t silent_after = 8'000'000'000; ///< nanoseconds; 0: no rank is ever given up
    };
    balancer(transport& t, local_work& w, const settings& s);

    /// Handles what has arrived and does what is due. `now` in nanoseconds never decreases. True if something
    /// has moved. Throws balance_error, archive_error, std::bad_alloc.
    bool step(std::uint64_t now);
    /// Rank 0: the root has ended, and with it every task.
    void finish(parcel_result&& end);
    /// True if all ranks know the end, and no message is under way.
    [[nodiscard]] bool is_over() const noexcept { return m_stage == stage::over; }
    /// The result of the run, once it is over.
    [[nodiscard]] parcel_result& end() noexcept { return m_end; }
    /// The last tallies of all ranks, once it is over.
    [[nodiscard]] const std::vector<rank_tally>& tallies() const noexcept { return m_tallies; }
    /// True if this rank has work, as far as the last step() knows.
    [[nodiscard]] bool has_work() const noexcept { return m_stage == stage::balancing && !m_was_hungry; }
    /// True if a rank sleeps until this one sends it work.
    [[nodiscard]] bool is_awaited() const noexcept { return !m_sleepers.empty(); }

private:
    enum class stage { balancing, ending, exchanging, leaving, over };

    void handle(unsigned from, message&& m, std::uint64_t now);
    void send(unsigned to, const message& m);
    bool give(unsigned to, bool answer);
    bool send_finished();
    bool send_bounds();
    bool send_parts();
    bool send_drops();
    bool feed_sleepers();
    bool ask(std::uint64_t now);
    void note_hunger(bool hungry, std::uint64_t now);
    bool beat(std::uint64_t now);
    bool settle();
    [[noreturn]] static void refuse(unsigned from, const char* what);
    [[nodiscard]] unsigned random_other() noexcept;
    [[nodiscard]] bool owes_answer(unsigned rank) const noexcept;
    [[nodiscard]] bool awaits_answer(std::uint64_t now) const;

    transport& m_transport;
    local_work& m_work;
    settings m_settings;
    std::uint64_t m_random;
    stage m_stage = stage::balancing;

    // As a thief.
    std::vector<unsigned> m_lifelines; // the other end of each
    std::vector<bool> m_registered;    // that end has promised to send work
    struct question {
        unsigned victim;
        bool sleeps; // the victim promises to send work if it has none
        std::uint64_t when;
    };
    std::vector<question> m_asked; // those that owe an answer, each one; oldest first
    bool m_has_tried = false;      // a random rank, since this one lost its work
    bool m_was_hungry = false;
    std::uint64_t m_hungry_since = 0;

    // As a victim: ranks that sleep until this one has work.
    std::vector<unsigned> m_sleepers;

    std::uint64_t m_next_beat = 0;
    std::uint64_t m_heard = 0; // of the rank before this one; 0: nothing yet
    bool m_is_late = false;    // that rank, with its sign of life
    std::uint64_t m_looked = 0;

    rank_tally m_mine;
    std::vector<rank_tally> m_tallies;
    parcel_result m_end;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
