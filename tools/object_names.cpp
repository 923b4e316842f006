#include "object_names.hpp"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "names/object_names.hpp"

namespace tools {

namespace inside = pilfer::detail;

namespace {

/// A program that names more objects has the newest ones shown.
constexpr std::size_t most_names = 10'000;
constexpr std::size_t most_bytes = 255; // of a name

[[nodiscard]] std::vector<std::uint64_t> changes_in(process_memory const& memory) {
    std::vector<std::uint64_t> all;
    for (address const list : memory.name_lists()) {
        all.push_back(memory.word(list + offsetof(inside::object_name_list, changes)));
    }
    return all;
}

} // namespace

void object_names::read(process_memory const& memory) {
    std::vector<std::uint64_t> const changes = changes_in(memory);
    bool const is_still =
        std::none_of(changes.begin(), changes.end(), [](std::uint64_t n) { return n % 2 != 0; });
    if (is_still && changes == m_changes) {
        return;
    }
    m_names.clear();
    m_longest = 0;
    for (address const list : memory.name_lists()) {
        read_list(memory, memory.word(list + offsetof(inside::object_name_list, first)));
    }
    std::sort(m_names.begin(), m_names.end(), [](known_name const& a, known_name const& b) {
        return std::tie(a.object, a.place) < std::tie(b.object, b.place);
    });
    m_changes.clear();
    if (is_still && changes_in(memory) == changes) {
        m_changes = changes;
    }
}

void object_names::read_list(process_memory const& memory, address first) {
    copy_of<inside::named_object> n;
    for (address at = first; at != 0 && m_names.size() < most_names && memory.read(at, n);
         at = reinterpret_cast<address>(n->next)) {
        m_names.push_back({reinterpret_cast<address>(n->object),
                           m_names.size(),
                           n->bytes,
                           reinterpret_cast<address>(n->text),
                           {}});
    }
    for (known_name& each : m_names) {
        if (each.name.empty()) {
            each.name = memory.text(each.text, most_bytes);
        }
        m_longest = std::max(m_longest, each.bytes);
    }
}

std::string object_names::at(address object) const {
    known_name const* found = nullptr;
    auto at = std::upper_bound(m_names.begin(), m_names.end(), object,
                               [](address a, known_name const& n) { return a < n.object; });
    while (at != m_names.begin() && object - (at - 1)->object < m_longest) {
        --at; // the newest of equal ones comes last
        if (object - at->object < at->bytes && (found == nullptr || at->bytes <= found->bytes)) {
            found = &*at;
        }
    }
    return found != nullptr ? found->name : std::string();
}

} // namespace tools
