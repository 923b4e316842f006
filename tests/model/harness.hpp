// The form of a harness: a default-constructible class with `static constexpr unsigned threads`. It has `void
// thread(unsigned i)` for each of them, and `void finish()` with the conditions at the end. If threads may
// sleep for good, it has `bool at_rest()`.
#pragma once

#include <memory>
#include <new>
#include <vector>

#include "atom.hpp"

namespace model {

[[nodiscard]] std::vector<harness>& harnesses();

/// An object of one execution. Its parts are destroyed only if the execution ends well.
template <class H>
struct registered {
    registered(const char* name, const char* text) { harnesses().push_back(of(name, text)); }

    [[nodiscard]] static harness of(const char* name, const char* text) {
        static_assert(sizeof(H) <= std::size_t{256} * 1024);
        return {name,
                text,
                H::threads,
                sizeof(H),
                [](void* at) { ::new (at) H; },
                [](void* self, unsigned i) { static_cast<H*>(self)->thread(i); },
                [](void* self) {
                    static_cast<H*>(self)->finish();
                    std::destroy_at(static_cast<H*>(self));
                },
                [](void* self) {
                    if constexpr (requires(H & h) { h.at_rest(); }) {
                        return static_cast<H*>(self)->at_rest();
                    } else {
                        (void)self;
                        return false;
                    }
                }};
    }
};

/// Ends the execution as a finding if `holds` is false.
inline void check(bool holds, const char* text) {
    if (!holds) {
        here().fail(text);
    }
}

/// Counts the runs of each of N tasks. The announcer of a task writes `payload` first, and the thread that
/// runs it reads it.
template <unsigned N>
class tasks {
public:
    void announce(unsigned i) { m_payload[i] = i + 1; }
    void run(unsigned i) {
        check(i < N, "a task that nobody announced");
        check(m_payload[i] == i + 1, "a task without what was written for it");
        check(!m_ran[i], "a task ran twice");
        m_ran[i] = true; // plain: a second run is found by the race, too
        here().note("runs task", i);
    }
    [[nodiscard]] bool ran(unsigned i) const noexcept { return m_ran[i]; }
    /// All of [0, n) ran.
    void finish(unsigned n = N) const {
        for (unsigned i = 0; i < n; ++i) {
            check(m_ran[i], "a task was lost");
        }
    }

private:
    plain<unsigned> m_payload[N];
    bool m_ran[N] = {}; // of the checker itself: no access
};

} // namespace model
