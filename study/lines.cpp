#include "lines.hpp"

#include <map>

namespace study {
namespace {

[[nodiscard]] std::string base_name(const std::string& file) { return file.substr(file.rfind('/') + 1); }

} // namespace

std::vector<std::string> line_names(const std::vector<source_line>& lines) {
    std::map<std::string, std::string> paths; // by their last part; empty: there are several
    for (const source_line& l : lines) {
        const auto [at, is_new] = paths.try_emplace(base_name(l.file), l.file);
        if (!is_new && at->second != l.file) {
            at->second.clear();
        }
    }
    std::vector<std::string> names;
    for (const source_line& l : lines) {
        const std::string last = base_name(l.file);
        names.push_back(!l.file.empty()
                            ? (paths.at(last).empty() ? l.file : last) + ":" + std::to_string(l.line)
                        : !l.function.empty() ? "in " + l.function
                                              : "(line not known)");
    }
    return names;
}

bool is_line(const source_line& l, std::string_view text) {
    const std::string all = l.file + ":" + std::to_string(l.line);
    return !l.file.empty() && !text.empty() && all.ends_with(text) &&
           (all.size() == text.size() || text.front() == '/' || all[all.size() - text.size() - 1] == '/');
}

} // namespace study
