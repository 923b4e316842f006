// Makes the text of sortlines and wordcount out of the text files below a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace showcase {

struct text_made {
    std::uint64_t bytes = 0;
    std::uint64_t files = 0;
};

/// Appends the text files below `folder`, in bytewise order of their paths, to the open file `fd`, until
/// `limit` bytes are reached; each ends with a newline. A file is text if its first 8,000 bytes contain no
/// NUL. Files that cannot be read are left out. `tick(bytes)` is called now and then. Throws
/// std::system_error if `fd` cannot be written.
text_made make_text(std::string const& folder, int fd, std::uint64_t limit,
                    std::function<void(std::uint64_t)> const& tick);

} // namespace showcase
