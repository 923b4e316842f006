// Messages between ranks: encoding and checked decoding.
#include "cluster/wire.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

using cluster::archive;
using cluster::archive_error;

// Found by the archive, so not in an unnamed namespace.
static void serialize(archive& a, parcel& p) { a(p.origin, p.task, p.ticket, p.description); }
static void serialize(archive& a, parcel_result& r) { a(r.ticket, r.rank, r.failed, r.bytes); }

namespace {

void require(bool holds, const char* what) {
    if (!holds) {
        throw archive_error(what);
    }
}

} // namespace

std::vector<std::byte> encode(const message& m) {
    archive out;
    out.put(wire_magic);
    out.put(wire_version);
    out.put(m.kind);
    out.put(m.flag);
    out.put(m.task);
    out.put(m.parcels);
    out.put(m.results);
    return std::move(out.bytes());
}

message decode(std::span<const std::byte> bytes, const wire_limits& limits) {
    archive in(bytes);
    require(in.take<std::uint32_t>() == wire_magic, "not a message of pilfer");
    require(in.take<std::uint16_t>() == wire_version, "a message of another version");
    message m;
    const auto kind = in.take<std::uint8_t>();
    require(kind < message_kinds, "a message of an unknown kind");
    m.kind = static_cast<message_kind>(kind);
    m.flag = in.take<std::uint8_t>();
    require(m.flag <= 1, "a flag that is neither 0 nor 1");
    m.task = in.take<std::uint32_t>();
    require(m.task == 0 || m.task < limits.tasks, "a task that this program does not have");
    m.parcels = in.take<std::vector<parcel>>();
    m.results = in.take<std::vector<parcel_result>>();
    in.end();
    require(m.parcels.empty() || m.kind == message_kind::give, "tasks in a message that has none");
    for (const parcel& p : m.parcels) {
        require(p.origin < limits.ranks, "a rank that does not exist");
        require(p.task < limits.tasks, "a task that this program does not have");
    }
    require(m.results.empty() || m.kind == message_kind::results || m.kind == message_kind::done ||
                m.kind == message_kind::bounds || m.kind == message_kind::parts ||
                m.kind == message_kind::drop,
            "results in a message that has none");
    require(m.kind != message_kind::done || m.results.size() == 1, "an end without one result");
    for (const parcel_result& r : m.results) {
        require(r.rank < limits.ranks, "a rank that does not exist");
        require(r.failed <= 1, "a result that neither failed nor succeeded");
        if (m.kind == message_kind::bounds) {
            require(r.ticket < limits.bounds, "a bound that this program does not have");
            require(r.bytes.size() == bound_bytes && r.failed == 0, "a bound that is no value");
        }
        require(m.kind != message_kind::drop || (r.bytes.empty() && r.failed == 0),
                "a result that is dropped");
    }
    return m;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
