// Lines of the source in recordings, and their names for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace study {

struct source_line {
    std::string file; ///< Empty: the program was compiled without debug information.
    unsigned line = 0;
    std::string function; ///< The name of the line if its file is not known.
    friend auto operator<=>(const source_line&, const source_line&) = default;
};

/// "name.cpp:12" for each line; with folders where two files have one name. The function if there is no file.
[[nodiscard]] std::vector<std::string> line_names(const std::vector<source_line>& lines);
/// True if `text`, "FILE:LINE", is this line: FILE may be the end of the path, from a slash on.
[[nodiscard]] bool is_line(const source_line& l, std::string_view text);

} // namespace study
