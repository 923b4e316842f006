// The places of a harness's threads when none can run: for at_rest(), without an access.
#pragma once

#include <array>

#include "atom.hpp"

namespace model {

/// One for each execution: its constructor forgets the one before.
class resting {
public:
    resting() { s_place.fill(place::somewhere); }

    /// A Park policy that keeps the books.
    struct park : model::park {
        static void wait(atomic<std::uint32_t>& word, std::uint32_t expected, where w = where::current()) {
            mine() = place::asleep;
            model::park::wait(word, expected, w);
            mine() = place::somewhere;
        }
        static void wait_either(atomic<std::uint32_t>& a, std::uint32_t in_a, atomic<std::uint32_t>& b,
                                std::uint32_t in_b, std::uint64_t ns, where w = where::current()) {
            mine() = place::asleep;
            model::park::wait_either(a, in_a, b, in_b, ns, w);
            mine() = place::somewhere;
        }
    };
    [[noreturn]] static void in_endless_task() {
        mine() = place::gone;
        here().never_again();
    }
    static void at_the_end() { mine() = place::gone; }

    /// No thread waits in a loop, at a lock or for a token.
    [[nodiscard]] static bool nobody_waits(unsigned threads) {
        for (unsigned i = 1; i <= threads; ++i) {
            if (s_place[i] == place::somewhere) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] static bool somebody_sleeps() {
        for (const place p : s_place) {
            if (p == place::asleep) {
                return true;
            }
        }
        return false;
    }

private:
    enum class place : std::uint8_t { somewhere, asleep, gone };
    [[nodiscard]] static place& mine() { return s_place[here().self()]; }
    static inline std::array<place, max_threads> s_place{};
};

} // namespace model
