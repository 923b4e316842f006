// Messages between the processes of an elastic run: the bytes of jobs and of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/detail/cluster/bound_word.hpp>

#include "cluster/rank_work.hpp"
#include "cluster/wire.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

template <class T>
[[nodiscard]] std::vector<std::byte> bytes_of(const T& value) {
    cluster::archive out;
    out.put(value);
    return std::move(out.bytes());
}
/// Throws archive_error.
template <class T>
[[nodiscard]] T read_as(std::span<const std::byte> bytes) {
    cluster::archive in(bytes);
    T value = in.take<T>();
    in.end();
    return value;
}
/// A message of any rank. Throws archive_error if it names tasks or bounds that this program does not have.
[[nodiscard]] inline message decode_here(std::span<const std::byte> bytes) {
    return decode(bytes, {.ranks = std::numeric_limits<std::uint32_t>::max(),
                          .tasks = static_cast<std::uint32_t>(cluster_tasks().size()),
                          .bounds = static_cast<std::uint32_t>(cluster_bounds().size())});
}

} // namespace detail
} // namespace v0
} // namespace pilfer
