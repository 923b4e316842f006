// Messages between ranks: every input is refused with a reason, or is read as a message that has exactly
// these bytes.
//
// The first byte of the input says how: 0 to 127 take the rest as it is; from 128 on the bytes that each
// message begins with are put in front, so that the fuzzer need not guess them. A value of a user's type is
// read from the rest, too.
#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "cluster/tasks.hpp"
#include "cluster/wire.hpp"
#include "fuzz/require.hpp"

using namespace pilfer::detail;
using pilfer::cluster::archive;
using pilfer::cluster::archive_error;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

template <class T>
void read_value(std::span<const std::byte> bytes) {
    try {
        archive in(bytes);
        T value = in.take<T>();
        in.end();
        archive out;
        out.put(value);
        require(std::ranges::equal(out.bytes(), bytes), "a value of other bytes");
    } catch (const archive_error&) {
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    archive text;
    if (data[0] >= 128) {
        text.put(wire_magic);
        text.put(wire_version);
    }
    std::vector<std::byte>& bytes = text.bytes();
    const auto* rest = reinterpret_cast<const std::byte*>(data + 1);
    bytes.insert(bytes.end(), rest, rest + size - 1);

    constexpr wire_limits limits{.ranks = 3, .tasks = 5, .bounds = 2};
    try {
        const message m = decode(bytes, limits);
        require(encode(m) == bytes, "a message of other bytes");
        for (const parcel& p : m.parcels) {
            require(p.origin < limits.ranks && p.task < limits.tasks, "a number beyond the limits");
        }
        if (m.kind == message_kind::bounds) {
            for (const parcel_result& r : m.results) {
                require(r.ticket < limits.bounds && r.bytes.size() == bound_bytes,
                        "a bound beyond the limits");
            }
        }
    } catch (const archive_error& e) {
        require(e.what()[0] != '\0', "refused without a reason");
    }
    const std::span<const std::byte> plain(rest, size - 1);
    read_value<std::vector<std::string>>(plain);
    read_value<std::vector<std::tuple<int, std::vector<char>>>>(plain);
    read_value<program_facts>(plain);
    read_value<hello>(plain);
    read_value<consent>(plain);
    return 0;
}
