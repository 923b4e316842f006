#include "trace/ring.hpp"

#include <algorithm>
#include <new>

#include "platform/os.hpp"
#include "platform/ticks.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {
namespace {

// The second word of an event: 6 bits what, 6 bits task, 25 bits who, 25 bits n.
constexpr unsigned task_shift = 6;
constexpr unsigned who_shift = 12;
constexpr unsigned n_shift = 37;

[[nodiscard]] std::uint64_t packed(what w, task t, std::uint32_t who, std::uint32_t n) noexcept {
    return static_cast<std::uint64_t>(w) | static_cast<std::uint64_t>(t) << task_shift |
           std::uint64_t{std::min(who, ring::most)} << who_shift |
           std::uint64_t{std::min(n, ring::most)} << n_shift;
}

[[nodiscard]] event unpacked(std::uint64_t ticks, std::uint64_t rest) noexcept {
    return {ticks, static_cast<what>(rest & 0x3F), static_cast<task>(rest >> task_shift & 0x3F),
            static_cast<std::uint32_t>(rest >> who_shift) & ring::most,
            static_cast<std::uint32_t>(rest >> n_shift) & ring::most};
}

static_assert(kinds_of_event <= 64 && most_reasons <= 63);

/// Filled from the front, an entry once.
constinit std::atomic<const char*> reasons[most_reasons];

} // namespace

std::uint32_t identity(const void* object) noexcept {
    // Addresses of stacks and of objects in arrays differ in few bits: multiply, and keep the upper ones.
    const auto mixed =
        static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(object)) * 0x9e3779b97f4a7c15U;
    return object == nullptr ? 0 : 1 + static_cast<std::uint32_t>(mixed >> 32) % ring::most;
}

unsigned number_of_reason(const char* text) noexcept {
    for (unsigned i = 0; text != nullptr && i < most_reasons; ++i) {
        const char* known = reasons[i].load(std::memory_order_relaxed);
        // A failed exchange leaves what another thread has written. The texts are constants: no edge is
        // needed.
        if (known == text ||
            (known == nullptr &&
             (reasons[i].compare_exchange_strong(known, text, std::memory_order_relaxed) || known == text))) {
            return i + 1;
        }
    }
    return 0;
}

const char* reason(unsigned number) noexcept {
    return number == 0 || number > most_reasons ? nullptr
                                                : reasons[number - 1].load(std::memory_order_relaxed);
}

ring::ring(std::size_t events)
    : m_slots(static_cast<slot*>(os::reserve(events * sizeof(slot)))), m_mask(events - 1) {
    if (m_slots == nullptr) {
        throw std::bad_alloc();
    }
}

ring::~ring() { os::unreserve(m_slots, (m_mask + 1) * sizeof(slot)); }

void ring::add(trace::what what, trace::task task, std::uint32_t who, std::uint32_t n) noexcept {
    const std::uint64_t i = m_next.load(std::memory_order_relaxed);
    slot& s = m_slots[i & m_mask];
    // trace.T1: a reader that sees a word of event i also sees that all events before it were begun.
    std::atomic_ref(s.ticks).store(os::ticks(), std::memory_order_release);
    std::atomic_ref(s.rest).store(packed(what, task, who, n), std::memory_order_release);
    m_next.store(i + 1, std::memory_order_release); // trace.T2: the event is complete
}

excerpt ring::read() const {
    const std::uint64_t size = m_mask + 1;
    const std::uint64_t end = m_next.load(std::memory_order_acquire); // trace.T2
    const std::uint64_t first = end > size ? end - size : 0;
    excerpt e;
    e.events.reserve(end - first);
    for (std::uint64_t i = first; i < end; ++i) {
        slot& s = m_slots[i & m_mask];
        const auto ticks = std::atomic_ref(s.ticks).load(std::memory_order_acquire); // trace.T1
        const auto rest = std::atomic_ref(s.rest).load(std::memory_order_acquire);   // trace.T1
        e.events.push_back(unpacked(ticks, rest));
    }
    // Events that were overwritten meanwhile are dropped, because the words may be those of later events. The
    // event that is being written is not yet counted in m_next. Its place counts as overwritten too, so a
    // full ring of n yields n - 1.
    const std::uint64_t begun = m_next.load(std::memory_order_relaxed) + 1;
    const std::uint64_t oldest = begun > size ? begun - size : 0;
    const std::uint64_t lost = std::min(oldest > first ? oldest - first : 0, end - first);
    e.events.erase(e.events.begin(), e.events.begin() + static_cast<std::ptrdiff_t>(lost));
    e.overwritten = first + lost;
    return e;
}

} // namespace trace
} // namespace v0
} // namespace pilfer
