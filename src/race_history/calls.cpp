#include "race_history/calls.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {

constinit thread_local fiber* running_fiber = nullptr;

std::uint32_t call_table::record(fiber& f) noexcept {
    frame* at = f.top;
    while (at != f.frames && at->calls == 0) {
        --at;
    }
    std::uint32_t caller = at->calls;
    while (at != f.top) {
        ++at;
        std::uint32_t c = at->known_calls;
        if (c == 0 || !m_all[c].live || m_all[c].caller != caller || m_all[c].returns_to != at->returns_to) {
            c = m_all.take();
            m_all[c] = {caller, true, false, at->returns_to};
        }
        at->calls = at->known_calls = caller = c;
    }
    return caller;
}

stack_of call_table::stack(std::uint64_t site, std::uint32_t c) noexcept {
    stack_of s;
    s.at[0] = site;
    s.depth = 1;
    for (; c != 0 && s.depth < most_frames; c = m_all[c].caller) {
        s.at[s.depth++] = m_all[c].returns_to;
    }
    return s;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
