// The records of `fork`, as the lists of free ones know them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The head of a recycled record of `fork`; the payload follows it. The head is unchanged while the record is
/// in use, so that giving back the record that was taken last writes one word.
struct free_record {
    std::atomic<free_record*> next;
    std::atomic<std::uint32_t> rank; // length of the list from here
};

inline constexpr std::size_t record_bytes[] = {64, 160};
/// A worker's list of this length gives a batch back to the pool of records.
inline constexpr std::uint32_t most_free_records = 1024;

} // namespace detail
} // namespace v0
} // namespace pilfer
