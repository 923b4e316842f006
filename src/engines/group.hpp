// The ranks of this program, as whatever launched them connects them.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "cluster/doorbell.hpp"
#include "cluster/transport.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

class process_group : public transport {
public:
    /// From here on the messages are those of another run.
    virtual void begin_run() = 0;
    /// The bytes of all ranks. All ranks call it at once.
    virtual std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& mine) = 0;
    /// The name of a rank's machine, after meet().
    [[nodiscard]] virtual std::string host(unsigned rank) const = 0;
    /// Returns when all ranks have called it, or after `seconds` with false.
    virtual bool leave(unsigned seconds) = 0;
    /// Sleeps until another rank has sent something, or so; it lives as long as the group.
    [[nodiscard]] virtual doorbell& bell() noexcept = 0;
    /// True once after another rank has ended such a sleep: its message is here, or comes at once.
    [[nodiscard]] virtual bool take_rung() noexcept = 0;
    /// Ends the processes of all ranks.
    virtual void abort() noexcept = 0;
};

/// True if this process was started as one rank of several.
[[nodiscard]] bool is_launched() noexcept;
/// Initialises MPI unless the program has done so. Throws std::runtime_error.
[[nodiscard]] std::unique_ptr<process_group> make_group(int argc, char** argv);

} // namespace detail
} // namespace v0
} // namespace pilfer
