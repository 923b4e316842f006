// How numbers and names are shown to people.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace showcase {

/// 4130071 becomes 4,130,071.
std::string grouped(std::uint64_t number);

/// Four significant digits with s, ms or us.
std::string shown_seconds(double seconds);

/// MiB with one decimal.
std::string shown_bytes(std::uint64_t bytes);

/// Control characters, which a file name may hold, become '?': a terminal would obey them.
std::string printable(std::string_view text);

/// The name people know a runtime by: tbb is oneTBB.
std::string shown_runtime(std::string_view runtime);

/// The runtime's way to fork; serial is a plain call.
std::string shown_way_to_fork(std::string_view runtime);

} // namespace showcase
