// One sum in three forms: spawn, fork, join. There are 16 tasks, one per German state. Each writes through a
// pointer into a local of the parent's frame while that frame is alive.
//
//   tax_debt [rounds]     the rounds before the last one print nothing
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include <pilfer/pilfer.hpp>

namespace {

constexpr std::size_t states = 16;
using debts = std::array<long, states>;

/// Schleswig-Holstein, Hamburg, ... Thüringen: the result of an inspection of that state, in euros.
constexpr debts findings = {1'021, 1'103, 1'207, 1'301, 1'409, 1'511, 1'601, 1'709,
                            1'801, 1'901, 2'003, 2'111, 2'203, 2'309, 2'411, 2'503};

void inspect(std::size_t state, long* debt) { *debt = findings[state]; }

[[nodiscard]] long total(const debts& d) { return std::accumulate(d.begin(), d.end(), 0L); }

/// The child runs at once; the rest of the loop is offered to idle workers.
[[nodiscard]] long by_spawn() {
    debts found{};
    pilfer::scope s;
    for (std::size_t state = 0; state < states; ++state) {
        long* debt = &found[state];
        s.spawn([state, debt] { inspect(state, debt); });
    }
    s.sync();
    return total(found);
}

/// The children are offered to idle workers; the loop continues at once.
[[nodiscard]] long by_fork() {
    debts found{};
    pilfer::scope s;
    for (std::size_t state = 0; state < states; ++state) {
        long* debt = &found[state];
        s.fork([state, debt] { inspect(state, debt); });
    }
    s.sync();
    return total(found);
}

/// Halves: one is done here, the other is offered.
void inspect_states(std::size_t first, std::size_t last, debts* found) {
    if (last - first == 1) {
        inspect(first, &(*found)[first]);
        return;
    }
    const std::size_t middle = first + (last - first) / 2;
    pilfer::join([=] { inspect_states(first, middle, found); }, [=] { inspect_states(middle, last, found); });
}

[[nodiscard]] long by_join() {
    debts found{};
    inspect_states(0, states, &found);
    return total(found);
}

} // namespace

int main(int argc, char** argv) {
    const long rounds = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 1;
    pilfer::pool pool;
    return pool.run([rounds] {
        const long expected = total(findings);
        for (long i = 1; i < rounds; ++i) {
            if (by_spawn() != expected || by_fork() != expected || by_join() != expected) {
                std::printf("round %ld lost some debt\n", i);
                return 1;
            }
        }
        std::printf("Tax debt is: %ld\n", by_spawn());
        std::printf("Tax debt is: %ld\n", by_fork());
        std::printf("Tax debt is: %ld\n", by_join());
        return 0;
    });
}
