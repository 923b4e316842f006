#include "trace/places.hpp"

#include <unwind.h>

#include <algorithm>
#include <array>

#include "base/utf8.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {
namespace {

/// A place beyond this many frames has no function of the user near it.
constexpr unsigned most_frames = 24;
/// A program that has more places than this gets no numbers for further ones.
constexpr std::size_t most_places = std::size_t{1} << 20;

[[nodiscard]] std::size_t hash_of(std::uint32_t inner, const void* pc) noexcept {
    const auto mixed =
        (static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pc)) ^ (std::uint64_t{inner} << 40)) *
        0x9e3779b97f4a7c15U;
    return static_cast<std::size_t>(mixed >> 32);
}

struct stack {
    frame from;
    std::uintptr_t end;
    std::array<frame, most_frames> frames{};
    unsigned count = 0;
    bool seen = false;
    bool is_cut = false; // there are further frames
};

_Unwind_Reason_Code visit(_Unwind_Context* at, void* argument) noexcept {
    auto& s = *static_cast<stack*>(argument);
    const frame f{reinterpret_cast<const void*>(_Unwind_GetIP(at)), _Unwind_GetCFA(at)};
    s.seen = s.seen || f.pc == s.from.pc; // clang++ has another __builtin_dwarf_cfa() on AArch64
    if (!s.seen) {
        return _URC_NO_REASON;
    }
    const bool goes_down = s.count != 0 && f.sp < s.frames[s.count - 1].sp; // to another stack
    if (f.pc == nullptr || f.sp > s.end || goes_down) {
        return _URC_END_OF_STACK;
    }
    if (s.count == most_frames) {
        s.is_cut = true;
        return _URC_END_OF_STACK;
    }
    s.frames[s.count++] = f;
    return _URC_NO_REASON;
}

} // namespace

bool is_of_library(std::string_view function) noexcept {
    if (function.starts_with("_Z")) { // the runtime cannot read every name that g++ makes of closures
        function.remove_prefix(
            std::min(function.find_first_not_of("_Z"), function.size())); // local names nest
        if (function.starts_with('N')) {
            function.remove_prefix(std::min(function.find_first_not_of("KVRO", 1), function.size()));
        }
        function.remove_prefix(function.starts_with('L') ? 1 : 0);
        // S: a name in std, which may have a short form.
        return function.starts_with("6pilfer") || function.starts_with('S') || function.starts_with("3tbb") ||
               function.starts_with("6__pstl") || function.starts_with("9__gnu_cxx") ||
               function.find("__gthread") < 3;
    }
    if (function.starts_with(
            "decltype")) { // "decltype(auto) f()", "decltype (g<int>()) f()": a type before the name
        int depth = 0;
        const auto end = std::find_if(function.begin(), function.end(), [&depth](char c) {
            depth += c == '(' ? 1 : c == ')' ? -1 : 0;
            return c == ')' && depth == 0;
        });
        function.remove_prefix(static_cast<std::size_t>(end - function.begin()));
        function.remove_prefix(std::min<std::size_t>(function.size(), 2));
    }
    const std::string_view name = function.substr(0, function.find_first_of("(<"));
    const std::size_t space = name.rfind(' ');
    const std::string_view qualified = space == std::string_view::npos ? name : name.substr(space + 1);
    return qualified.starts_with("pilfer::") || qualified.starts_with("pilfer_v0_") ||
           qualified.starts_with("tbb::") || qualified.starts_with("__pstl::") ||
           qualified.starts_with("std::") || qualified.starts_with("__gnu_cxx::") ||
           qualified.starts_with("__gthread");
}

bool is_file_of_library(std::string_view file) {
    constexpr std::string_view here = __FILE__;
    constexpr std::string_view mine = "src/trace/places.cpp";
    if (file.find("/include/pilfer/") != std::string_view::npos ||
        file.find("/include/c++/") != std::string_view::npos ||
        file.find("/include/oneapi/tbb/") != std::string_view::npos || file.ends_with("/pilfer.hpp") ||
        file == here) {
        return true;
    }
    return here.ends_with(mine) &&
           file.starts_with(std::string(here.substr(0, here.size() - mine.size())) + "src/");
}

std::string quoted(const std::string& name) {
    constexpr const char* digits = "0123456789abcdef";
    std::string all = "\"";
    for (std::size_t at = 0; at < name.size(); ++at) {
        const char c = name[at];
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x80) {
            const std::size_t bytes = detail::utf8_bytes(std::string_view(name).substr(at));
            all += bytes == 0 ? "\\ufffd" : name.substr(at, bytes);
            at += std::max<std::size_t>(bytes, 1) - 1;
            continue;
        }
        if (byte < 0x20) {
            all += "\\u00";
            all += digits[byte >> 4];
            all += digits[byte & 15];
            continue;
        }
        if (c == '"' || c == '\\') {
            all += '\\';
        }
        all += c;
    }
    return all + '"';
}

std::uint32_t places::find(std::uint32_t inner, const void* pc) const noexcept {
    const std::size_t mask = m_table.size() - 1;
    for (std::size_t i = hash_of(inner, pc) & mask; m_table[i] != 0; i = (i + 1) & mask) {
        const node& n = m_nodes[m_table[i]];
        if (n.pc == pc && n.inner == inner) {
            return m_table[i];
        }
    }
    return 0;
}

void places::grow() {
    std::vector<std::uint32_t> larger(2 * m_table.size());
    const std::size_t mask = larger.size() - 1;
    for (std::uint32_t n = 1; n < m_nodes.size(); ++n) {
        std::size_t i = hash_of(m_nodes[n].inner, m_nodes[n].pc) & mask;
        while (larger[i] != 0) {
            i = (i + 1) & mask;
        }
        larger[i] = n;
    }
    m_table.swap(larger);
}

std::uint32_t places::add(std::uint32_t inner, const void* pc) {
    if (const std::uint32_t known = find(inner, pc); known != 0) {
        return known;
    }
    if (2 * m_nodes.size() >= m_table.size()) {
        grow();
    }
    node made;
    made.inner = inner;
    made.pc = pc;
    made.is_sure = is_user(pc);
    m_nodes.push_back(made);
    const auto n = static_cast<std::uint32_t>(m_nodes.size() - 1);
    const std::size_t mask = m_table.size() - 1;
    std::size_t i = hash_of(inner, pc) & mask;
    while (m_table[i] != 0) {
        i = (i + 1) & mask;
    }
    m_table[i] = n;
    return n;
}

bool places::is_user(const void* pc) {
    const auto [at, is_new] = m_is_user.try_emplace(pc, false);
    if (is_new) {
        at->second = !is_of_library(m_symbols.raw_name(pc, true)); // on the stack of a task
    }
    return at->second;
}

/// The last node of the stack if it is known, else 0. Not instrumented: it reads return addresses, which are
/// between the variables of frames.
PILFER_NO_SANITIZE std::uint32_t places::follow(frame from, std::uintptr_t end) const noexcept {
    std::uint32_t n = 0;
    for (;;) {
        n = find(n, from.pc);
        if (n == 0 || m_nodes[n].is_last) {
            return n;
        }
        from.sp += m_nodes[n].distance;
        if (m_nodes[n].distance == 0 || from.sp > end) {
            return 0;
        }
        from.pc = *reinterpret_cast<const void* const*>(from.sp - sizeof(void*));
    }
}

std::size_t places::short_hash(const void* first, const void* last) noexcept {
    const auto both = 3 * reinterpret_cast<std::uintptr_t>(first) + reinterpret_cast<std::uintptr_t>(last);
    return static_cast<std::size_t>(std::uint64_t{both} * 0x9e3779b97f4a7c15U >> 40);
}

namespace {
/// The word below `sp` that may be a return address. Not instrumented, as follow().
PILFER_NO_SANITIZE const void* pc_below(std::uintptr_t sp) noexcept {
    return *reinterpret_cast<const void* const*>(sp - sizeof(void*));
}
} // namespace

/// The place of the stack if it is one of those found last, else 0.
places::number places::recall(frame from, std::uintptr_t end) const noexcept {
    const std::uintptr_t depth = m_depths[short_hash(from.pc, nullptr) % m_depths.size()];
    if (depth == 0 || from.sp + depth > end) {
        return 0;
    }
    const recent_stack& r = m_recent[short_hash(from.pc, pc_below(from.sp + depth)) % m_recent.size()];
    if (r.frames[0].pc != from.pc || r.depth != depth) {
        return 0;
    }
    for (unsigned i = 1; i < r.count; ++i) {
        if (pc_below(from.sp + r.frames[i].sp) != r.frames[i].pc) {
            return 0;
        }
    }
    return r.place;
}

/// `last`: the node of a function of the user, with a place. A stack of one frame, or of many, is left out.
void places::remember(std::uint32_t last) noexcept {
    recent_stack r;
    std::array<std::uint32_t, recent_stack::most> path{};
    for (std::uint32_t n = last; n != 0; n = m_nodes[n].inner) {
        if (r.count == path.size()) {
            return;
        }
        path[r.count++] = n;
    }
    for (unsigned i = 0; i < r.count; ++i) {
        const node& n = m_nodes[path[r.count - 1 - i]];
        r.frames[i] = {n.pc, r.depth};
        r.depth += i + 1 < r.count ? n.distance : 0;
    }
    r.place = m_nodes[last].place;
    m_depths[short_hash(r.frames[0].pc, nullptr) % m_depths.size()] = r.depth;
    m_recent[short_hash(r.frames[0].pc, m_nodes[last].pc) % m_recent.size()] = r;
}

/// The last node of the stack, which becomes known. 0: the stack cannot be unwound.
std::uint32_t places::unwind(frame from, std::uintptr_t end) {
    stack s{from, end != 0 ? end : UINTPTR_MAX};
    (void)_Unwind_Backtrace(&visit, &s);
    std::uint32_t n = 0;
    for (unsigned i = 0; i < s.count; ++i) {
        n = add(n, s.frames[i].pc);
        if (i + 1 == s.count || m_nodes[n].is_sure) {
            m_nodes[n].is_last = true;
            m_nodes[n].is_cut = s.is_cut && !m_nodes[n].is_sure;
            break;
        }
        m_nodes[n].distance = s.frames[i + 1].sp - s.frames[i].sp;
    }
    return n;
}

places::number places::place_of(std::uint32_t last, number under) {
    if (last == 0 || m_places.size() >= most_places) {
        return under;
    }
    if (m_nodes[last].is_sure) {
        if (m_nodes[last].place == 0) {
            m_places.push_back({last, 0});
            m_nodes[last].place = static_cast<number>(m_places.size() - 1);
        }
        return m_nodes[last].place;
    }
    const auto [at, is_new] = m_unsure.try_emplace(std::uint64_t{last} << 32 | under, 0);
    if (is_new) {
        // A recursion of the library's own comes to the same stack again: it is the same place.
        number same = under;
        while (same != 0 && m_places[same].node != last) {
            same = m_places[same].under;
        }
        if (same == 0) {
            m_places.push_back({last, under});
            same = static_cast<number>(m_places.size() - 1);
        }
        at->second = same;
    }
    return at->second;
}

/// The place that counts for a stack that ends with node `last` before a function of the user. A task's deep
/// recursion in the library comes after a shallow one, which has found the user's function.
places::number places::base_of(std::uint32_t last, number under, number latest) const noexcept {
    if (latest == 0 || !m_nodes[last].is_cut) {
        return under;
    }
    while (latest != 0 && m_nodes[m_places[latest].node].is_cut) {
        latest = m_places[latest].under;
    }
    return latest;
}

places::number places::at(frame from, std::uintptr_t end, number under, number latest) {
#if defined(__x86_64__)
    if (const number recent = recall(from, end); recent != 0) [[likely]] {
        return recent;
    }
    if (const std::uint32_t known = end != 0 ? follow(from, end) : 0; known != 0) [[likely]] {
        const number found = place_of(known, base_of(known, under, latest));
        if (m_nodes[known].is_sure && found != 0) {
            remember(known);
        }
        return found;
    }
#endif
    const std::uint32_t last = unwind(from, end);
    return place_of(last, base_of(last, under, latest));
}

places::number places::at(const void* pc, number under) {
    std::uint32_t n = find(0, pc);
    if (n == 0) {
        n = add(0, pc);
        m_nodes[n].is_last = true;
    }
    return place_of(n, under);
}

places::stacks places::known() const {
    stacks s;
    s.m_nodes = m_nodes;
    s.m_places = m_places;
    return s;
}

std::vector<source_place> places::stacks::sources(os::source_lines& lines) const {
    std::vector<source_place> all(m_places.size());
    std::vector<const void*> addresses;
    for (const node& n : m_nodes) {
        if (n.pc != nullptr) {
            addresses.push_back(n.pc);
        }
    }
    lines.learn(addresses);
    os::symbols symbols;
    for (std::size_t i = 1; i < all.size(); ++i) {
        std::vector<const void*> stack;
        for (std::uint32_t n = m_places[i].node; n != 0; n = m_nodes[n].inner) {
            stack.push_back(m_nodes[n].pc);
        }
        source_place& p = all[i];
        for (auto pc = stack.rbegin(); pc != stack.rend() && p.file.empty(); ++pc) {
            for (const os::source_line& l : lines.at(*pc)) {
                if (!is_of_library(l.function) && !is_file_of_library(l.file)) {
                    p = {l.file, l.line, l.function};
                    break;
                }
            }
        }
        if (p.file.empty() && m_places[i].under != 0) {
            p = all[m_places[i].under]; // its number is smaller
        }
        // The outermost frame is the user's, or that of the library around a task: its name names the user's.
        if (p.file.empty() && (p.function.empty() || m_nodes[m_places[i].node].is_sure)) {
            p.function = symbols.name(stack.front(), true);
        }
    }
    return all;
}

} // namespace trace
} // namespace v0
} // namespace pilfer
