// Files that a pool has recorded: each says what it is.
#pragma once

#include <istream>
#include <stdexcept>
#include <string>

namespace tools {

/// True for a trace, which begins with a brace; false for a task graph. Throws std::runtime_error if it is
/// neither.
[[nodiscard]] inline bool is_trace(std::istream& in, std::string const& file) {
    if (!in) {
        throw std::runtime_error(file + ": cannot be read");
    }
    in >> std::ws;
    int const first = in.peek();
    if (first == std::istream::traits_type::eof()) {
        throw std::runtime_error(file + ": it is empty or no file; a pool writes its recording when it ends");
    }
    if (first != 'p' && first != '{') {
        throw std::runtime_error(file + ": it is neither a trace (PILFER_TRACE) nor a task graph (pilfer "
                                        "profile --graph)");
    }
    return first == '{';
}

} // namespace tools
