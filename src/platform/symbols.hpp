// Names of functions, from the symbol tables of the program and its libraries.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace os {

/// The file that an address was loaded from.
struct loaded_from {
    std::string path;           ///< Empty: the program itself.
    std::uintptr_t address = 0; ///< In the file.
    bool found = false;
};
/// Throws std::bad_alloc.
[[nodiscard]] loaded_from file_around(std::uintptr_t address);
/// /proc/self/exe for the program itself.
[[nodiscard]] std::string path_to_open(const loaded_from& f);

/// Reads the files that the program was loaded from, so it also knows functions that are not exported; in a
/// stripped file only exported ones. Keeps what it has read until it is destroyed. Not for signal handlers.
class symbols {
public:
    symbols();
    symbols(const symbols&) = delete;
    symbols& operator=(const symbols&) = delete;
    ~symbols();

    /// The function around `address`, demangled, or the file and the offset in it. `returns`: it is a return
    /// address, so the instruction before counts. Throws std::bad_alloc.
    [[nodiscard]] std::string name(const void* address, bool returns);
    /// As name(), as the linker knows it. It needs little stack: to demangle may take 100 KB.
    [[nodiscard]] std::string raw_name(const void* address, bool returns);

private:
    struct tables;
    std::unique_ptr<tables> m_tables;
};

} // namespace os
} // namespace v0
} // namespace pilfer
