// The memory of tasks, and what graphs that have ended leave to later ones.
#include <pilfer/detail/graph/graph_core.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct vertex_memory::block {
    block* next;
    std::size_t bytes; // with these two words
};

namespace {

constexpr std::size_t least = 1024;
constexpr std::size_t most = std::size_t{1} << 20; // so that the last block wastes little

} // namespace

/// Blocks of the largest usual size. malloc gives most of them back to the system, and fresh pages cost more
/// than all else when a large graph is built.
class vertex_memory::kept_blocks {
public:
    /// Null: there is none.
    [[nodiscard]] block* take() noexcept {
        block* b = nullptr;
        if (m_first.load(rlx) != nullptr && enters()) {
            b = m_first.load(rlx);
            if (b != nullptr) {
                m_first.store(b->next, rlx);
                --m_count;
            }
            leave();
        }
        return b;
    }
    /// False: the block stays the caller's.
    [[nodiscard]] bool give(block* b) noexcept {
        if (!enters()) {
            return false;
        }
        const bool takes = m_count < m_room;
        if (takes) {
            b->next = m_first.load(rlx);
            m_first.store(b, rlx);
            ++m_count;
        }
        leave();
        return takes;
    }
    /// Frees all blocks, and takes none from now on.
    void close() noexcept {
        if (enters()) {
            m_room = 0;
            leave();
        }
        while (block* const b = take()) {
            ::operator delete(b);
        }
    }

private:
    // A thread that finds another one here does without kept blocks. If a thread is here at a fork(), the
    // child does without them for ever.
    [[nodiscard]] bool enters() noexcept { return !m_busy.exchange(true, acq); } // graph.E7
    void leave() noexcept { m_busy.store(false, rel); }                          // graph.E7

    std::atomic<bool> m_busy{false};
    std::atomic<block*> m_first{nullptr}; // written inside only
    std::size_t m_count = 0;
#if defined(PILFER_ASAN)
    std::size_t m_room = 0; // so that a use of a task after the end of its graph is found
#else
    std::size_t m_room = 64; // 64 MiB, which is also the most that glibc keeps at the end of its heap
#endif
};

constinit vertex_memory::kept_blocks vertex_memory::kept;

/// Also runs when the library is unloaded.
struct vertex_memory::end_of_program {
    end_of_program() = default;
    end_of_program(const end_of_program&) = delete;
    end_of_program& operator=(const end_of_program&) = delete;
    ~end_of_program() { kept.close(); }
};
const vertex_memory::end_of_program vertex_memory::at_the_end;

vertex_memory::~vertex_memory() {
    while (m_blocks != nullptr) {
        block* const b = std::exchange(m_blocks, m_blocks->next);
        if (b->bytes != most || !kept.give(b)) {
            ::operator delete(b);
        }
    }
}

void* vertex_memory::take_from_new_block(std::size_t bytes, std::size_t align) {
    // As much again as there is, up to a mebibyte.
    const std::size_t room = std::max(std::clamp(m_bytes, least, most), sizeof(block) + bytes + align);
    block* fresh = room == most ? kept.take() : nullptr;
    if (fresh == nullptr) {
        fresh = static_cast<block*>(::operator new(room));
    }
    *fresh = {std::exchange(m_blocks, fresh), room};
    m_at = reinterpret_cast<char*>(fresh + 1);
    m_end = reinterpret_cast<char*>(fresh) + room;
    m_bytes += room;
    return take(bytes, align);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
