#include "search/user_frames.hpp"

#if defined(PILFER_TEST)

#include <mutex>
#include <unordered_map>

#include "platform/source_lines.hpp"
#include "platform/symbols.hpp"
#include "trace/places.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

struct cache {
    os::source_lines lines;
    os::symbols symbols;
    std::unordered_map<const void*, std::string> names;

    [[nodiscard]] const std::string& name(const void* at) {
        std::string& n = names[at];
        if (n.empty()) {
            n = symbols.name(at, true);
        }
        return n;
    }
};
std::mutex cache_mutex;
/// Kept for later calls: what the symbol tables of a large program say takes a while to read.
[[nodiscard]] cache& known() {
    static cache all;
    return all;
}

} // namespace

void learn_lines(const std::vector<const void*>& return_addresses) {
    const std::lock_guard lock(cache_mutex);
    known().lines.learn(return_addresses);
}

std::vector<user_frame> user_frames(const void* const* return_addresses, std::size_t depth,
                                    std::size_t most) {
    const std::lock_guard lock(cache_mutex);
    cache& all = known();
    std::vector<user_frame> found;
    for (std::size_t i = 0; i < depth && found.size() < most; ++i) {
        const std::string& name = all.name(return_addresses[i]);
        const std::vector<os::source_line>& lines = all.lines.at(return_addresses[i]);
        const std::size_t before = found.size();
        for (const os::source_line& l : lines) {
            if (found.size() < most && !l.file.empty() && !trace::is_of_library(l.function) &&
                !trace::is_file_of_library(l.file)) {
                const bool is_inlined = &l != &lines.back();
                found.push_back({is_inlined ? l.function : name,
                                 l.file.substr(l.file.rfind('/') + 1) + ":" + std::to_string(l.line)});
            }
        }
        // Of a call that the compiler has inlined, addr2line may know the library's line only.
        if (found.size() == before && !trace::is_of_library(name) && !name.starts_with('?')) {
            found.push_back({name, ""});
        }
    }
    return found;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
