// Messages between ranks, and their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <pilfer/cluster/archive.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// A task that travels.
struct parcel {
    std::uint32_t origin = 0; ///< the rank that waits for its result
    std::uint32_t task = 0;   ///< the type's number
    std::uint64_t ticket = 0; ///< by which the origin finds the branch
    std::vector<std::byte> description{};

    bool operator==(const parcel&) const = default;
};

/// The result of a parcel, or of the whole run.
struct parcel_result {
    std::uint64_t ticket = 0; ///< of the parcel; else the number of a bound or of a part
    std::uint32_t rank = 0;   ///< where it failed; in a drop by a job queue its submitter; else 0
    std::uint8_t failed = 0;
    std::vector<std::byte> bytes{}; ///< the result, or the text of the error

    bool operator==(const parcel_result&) const = default;
};

enum class message_kind : std::uint8_t {
    ask,     ///< the sender wants work
    give,    ///< parcels: the answer to an ask, perhaps none, or a push along a lifeline
    results, ///< of parcels that the receiver waits for
    done,    ///< the run has ended, with the one result that is attached
    beat,    ///< the sender lives
    bounds,  ///< better values of bounds: the number of each, and its 8 bytes
    parts,   ///< of a journal, for rank 0: the number of each, and its value
    drop,    ///< parcels whose results their rank does not want: the ticket of each; 0, by a job queue: all
};
inline constexpr std::uint8_t message_kinds = 8;
inline constexpr std::size_t bound_bytes = 8;

struct message {
    message_kind kind = message_kind::beat;
    /// Of an ask: the sender sleeps if there is no work now, and wants to be sent some later. Of a give: it
    /// answers an ask.
    std::uint8_t flag = 0;
    std::uint32_t task = 0; ///< of done: the type of the root
    std::vector<parcel> parcels{};
    std::vector<parcel_result> results{};

    bool operator==(const message&) const = default;
};

/// The things that a message may name.
struct wire_limits {
    std::uint32_t ranks;
    std::uint32_t tasks;
    std::uint32_t bounds = 0;
};

inline constexpr std::uint32_t wire_magic = 0x7066'6c72;
/// Changes with every change of the messages, or of what an archive writes.
inline constexpr std::uint16_t wire_version = 6;

/// The bytes of a failed result.
[[nodiscard]] inline std::vector<std::byte> text_bytes(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

[[nodiscard]] std::vector<std::byte> encode(const message& m);
/// A pure function. Throws archive_error, with what is wrong, and std::bad_alloc only for messages that are
/// about as large.
[[nodiscard]] message decode(std::span<const std::byte> bytes, const wire_limits& limits);

} // namespace detail
} // namespace v0
} // namespace pilfer
