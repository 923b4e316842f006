// The places along a chain of strands, and how long it was at each of them.
//
// A fork copies its task's chain, and the end of a wait replaces it by the longest awaited one. So the last
// few places are in the chain itself, and most programs need no more. Further ones are in a list of segments,
// the newest first, that chains share: each counts those that point to it. A segment to which only one chain
// points is folded into that chain's next one, so a chain does not grow with the length of the program.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace profile {

/// The time of a chain at one place.
struct at_place {
    std::uint32_t place = 0;
    std::uint64_t ns = 0;
    std::uint64_t burden_ns = 0; // of thefts and resumptions
};

/// Chains that share segments are used by one thread at a time. Copies allocate nothing.
class chain {
public:
    chain() = default;
    chain(const chain& other) noexcept
        : m_few(other.m_few), m_count(other.m_count), m_newest(other.m_newest) {
        if (m_newest != nullptr) {
            ++m_newest->users;
        }
    }
    chain(chain&& other) noexcept
        : m_few(other.m_few), m_count(std::exchange(other.m_count, 0)),
          m_newest(std::exchange(other.m_newest, nullptr)) {}
    chain& operator=(chain other) noexcept {
        m_few = other.m_few;
        m_count = other.m_count;
        std::swap(m_newest, other.m_newest);
        return *this;
    }
    ~chain() {
        while (m_newest != nullptr && --m_newest->users == 0) {
            delete std::exchange(m_newest, m_newest->before);
        }
    }

    /// Throws std::bad_alloc.
    void add(std::uint32_t place, std::uint64_t ns, std::uint64_t burden_ns) {
        for (std::uint32_t i = 0; i < m_count; ++i) {
            if (m_few[i].place == place) {
                m_few[i].ns += ns;
                m_few[i].burden_ns += burden_ns;
                return;
            }
        }
        add_new({place, ns, burden_ns});
    }
    /// True if other chains may point to a part of this one.
    [[nodiscard]] bool shares() const noexcept { return m_newest != nullptr; }
    template <class F>
    void each(F f) const {
        std::for_each(m_few.begin(), m_few.begin() + m_count, f);
        for (const segment* s = m_newest; s != nullptr; s = s->before) {
            std::for_each(s->all.begin(), s->all.end(), f);
        }
    }

private:
    struct segment {
        segment* before = nullptr;
        std::uint32_t users = 1;
        std::vector<at_place> all{};

        void add(const at_place& e) {
            const auto at =
                std::find_if(all.begin(), all.end(), [&e](const at_place& x) { return x.place == e.place; });
            if (at == all.end()) {
                all.push_back(e);
                return;
            }
            at->ns += e.ns;
            at->burden_ns += e.burden_ns;
        }
    };

    PILFER_NOINLINE void add_new(const at_place& e) {
        if (m_count == m_few.size()) {
            make_room();
        }
        m_few[m_count++] = e;
    }
    /// Moves the chain's own places into a segment of its own.
    void make_room() {
        if (m_newest == nullptr || m_newest->users > 1) {
            auto made = std::make_unique<segment>();
            made->all.reserve(2 * m_few.size());
            made->before = m_newest; // with the reference that this chain had
            m_newest = made.release();
        }
        while (m_newest->before != nullptr && m_newest->before->users == 1) {
            segment* const older = m_newest->before;
            for (const at_place& e : m_newest->all) {
                older->add(e);
            }
            delete std::exchange(m_newest, older);
        }
        for (const at_place& e : m_few) {
            m_newest->add(e);
        }
        m_count = 0;
    }

    std::array<at_place, 4> m_few;
    std::uint32_t m_count = 0;
    segment* m_newest = nullptr;
};

} // namespace profile
} // namespace v0
} // namespace pilfer
