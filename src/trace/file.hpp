// A file named by an environment variable.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace trace {

/// A file that is opened when the pool begins and written once, when the pool ends. So a path that cannot be
/// written is an error before any work is done. A later change of the current folder does not matter.
class file {
public:
    /// One for each variable: the pools of a process count their files apart.
    struct purpose {
        const char* variable;
        std::atomic<unsigned> files{0};
    };
    /// Makes the file. `path`: %p becomes the process id; the second and later files of a process get `.2`,
    /// `.3` ... Throws std::invalid_argument for an empty path, std::system_error that names the variable and
    /// the path if the file cannot be made.
    file(purpose& why, const char* path);
    ~file();
    file(const file&) = delete;
    file& operator=(const file&) = delete;

    /// Calls `body` with the stream, the first time and not in a forked child. Errors are printed on standard
    /// error: the work is done, and its results must not be lost over a trace.
    void write(const std::function<void(std::ostream&)>& body) noexcept;

    /// The stream, for output before the end, until write().
    [[nodiscard]] std::ostream& stream() noexcept;

private:
    const char* m_variable;
    std::string m_path;
    std::unique_ptr<std::ofstream> m_out;
    std::uint64_t m_process;
    std::atomic<bool> m_written{false};
};

inline file::purpose of_trace{"PILFER_TRACE"};
inline file::purpose of_profile{"PILFER_PROFILE"};
inline file::purpose of_graph{"PILFER_PROFILE_GRAPH"};

} // namespace trace
} // namespace v0
} // namespace pilfer
