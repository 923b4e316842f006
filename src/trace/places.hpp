// Numbers for places in the program: where a task was forked, and where it waited.
//
// A place is a stack up to its innermost frame of the user. To unwind a stack takes microseconds, and a
// recorded fork takes less. So each stack is unwound once. The distances between its frames are kept, and the
// next look at a stack follows them: on x86-64 the distance is the same whenever the frame stands at the same
// instruction, except in frames of a variable size. Each return address on the way must be a known one, or
// the stack is unwound again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <pilfer/detail/base/platform.hpp>

#include "platform/source_lines.hpp"
#include "platform/symbols.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {

/// The caller of the function that makes it: the return address, and the stack pointer behind it.
struct frame {
    const void* pc = nullptr;
    std::uintptr_t sp = 0;
};
/// The caller of the function in which this text stands.
#define PILFER_CALLER                                                                                        \
    ::pilfer::v0::trace::frame {                                                                             \
        __builtin_return_address(0), reinterpret_cast<std::uintptr_t>(__builtin_dwarf_cfa())                 \
    }

/// The source of a place.
struct source_place {
    std::string file; ///< Empty: the program has no lines.
    unsigned line = 0;
    std::string function; ///< Empty: not known either.
    friend bool operator==(const source_place&, const source_place&) = default;
};

/// A text in JSON, with its quotation marks. Names of symbols and files may be of any bytes: one that is not
/// of UTF-8 becomes U+FFFD.
[[nodiscard]] std::string quoted(const std::string& name);

/// True if a demangled name is of this library, or of C++'s: "void pilfer::scope::sync()", and not
/// "f(pilfer::mutex&)".
[[nodiscard]] bool is_of_library(std::string_view function) noexcept;
/// True if a file of the source is one of this library's or of C++'s. Inlined functions may have no qualified
/// names.
[[nodiscard]] bool is_file_of_library(std::string_view file);

/// Not for several threads at once.
class places {
public:
    using number = std::uint32_t; ///< 0: not known

    /// The place of the frame `from`. `end`: the end of the stack, 0 if it is not known. `under`: the place
    /// that counts if no function of the user is on the stack, because the library began the task. `latest`:
    /// the task's place before this one, which counts if more frames of the library than are looked at hide
    /// the user's function; 0: `under` does. Throws std::bad_alloc. Cost: some 10 ns if the stack is known,
    /// and some microseconds for a new one or if `end` is 0.
    [[nodiscard]] number at(frame from, std::uintptr_t end, number under, number latest = 0);
    /// The place of one return address, of a stack that cannot be unwound.
    [[nodiscard]] number at(const void* pc, number under);

    [[nodiscard]] bool empty() const noexcept { return m_places.size() <= 1; }

private:
    /// A return address below others: from a node towards the root are the frames that it has called.
    struct node {
        std::uint32_t inner = 0;
        const void* pc = nullptr;
        std::uintptr_t distance = 0; // to the stack pointer of the next frame
        bool is_last = false;
        bool is_cut = false;  // the last one, but there were too many frames
        bool is_sure = false; // the frame is of a function of the user
        number place = 0;     // of a sure one
    };
    struct place {
        std::uint32_t node = 0;
        number under = 0;
    };
    /// A stack up to a function of the user, as it was found.
    struct recent_stack {
        static constexpr unsigned most = 6;
        number place = 0;
        unsigned count = 0;
        std::uintptr_t depth = 0;         // of its last frame
        std::array<frame, most> frames{}; // their stack pointers count from that of the first one
    };

public:
    /// All places up to now.
    class stacks {
    public:
        /// Their sources, by their numbers. Runs addr2line for what `lines` does not know yet, which may take
        /// seconds for a large program. Throws std::bad_alloc.
        [[nodiscard]] std::vector<source_place> sources(os::source_lines& lines) const;

    private:
        friend places;
        std::vector<node> m_nodes;
        std::vector<place> m_places;
    };
    [[nodiscard]] stacks known() const;

private:
    [[nodiscard]] std::uint32_t find(std::uint32_t inner, const void* pc) const noexcept;
    [[nodiscard]] std::uint32_t add(std::uint32_t inner, const void* pc);
    [[nodiscard]] std::uint32_t follow(frame from, std::uintptr_t end) const noexcept;
    [[nodiscard]] static std::size_t short_hash(const void* first, const void* last) noexcept;
    [[nodiscard]] number recall(frame from, std::uintptr_t end) const noexcept;
    void remember(std::uint32_t last) noexcept;
    [[nodiscard]] std::uint32_t unwind(frame from, std::uintptr_t end);
    void grow();
    [[nodiscard]] number place_of(std::uint32_t last, number under);
    [[nodiscard]] number base_of(std::uint32_t last, number under, number latest) const noexcept;
    [[nodiscard]] bool is_user(const void* pc);

    std::vector<node> m_nodes{{}};
    std::vector<std::uint32_t> m_table =
        std::vector<std::uint32_t>(256); // of nodes, by their hashes; 0: free
    std::vector<place> m_places{{}};
    // Most looks find one of the last stacks again. They compare it frame by frame, and search no table.
    std::array<std::uintptr_t, 64> m_depths{}; // by a stack's first return address; of the last stack found
    std::array<recent_stack, 128> m_recent{};  // by the first and the last return address
    std::unordered_map<std::uint64_t, number> m_unsure; // by node and `under`
    std::unordered_map<const void*, bool> m_is_user;
    os::symbols m_symbols;
};

} // namespace trace
} // namespace v0
} // namespace pilfer
