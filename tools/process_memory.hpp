// The memory of another process that uses pilfer.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace tools {

using address = std::uintptr_t;

/// A process that cannot be looked at; the text says why.
struct cannot_look : std::runtime_error {
    using std::runtime_error::runtime_error;
};
/// A process that was looked at and has ended.
struct process_has_ended : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Bytes of an object in another process. They are seen as the object, whose members that follow no pointer
/// may be called. Its constructor and its destructor never run.
template <class T>
class copy_of {
public:
    [[nodiscard]] T const& operator*() const noexcept { return *reinterpret_cast<T const*>(m_bytes); }
    [[nodiscard]] T const* operator->() const noexcept { return reinterpret_cast<T const*>(m_bytes); }
    [[nodiscard]] void* bytes() noexcept { return m_bytes; }

private:
    alignas(T) std::byte m_bytes[sizeof(T)]{};
};

/// A text for a screen. Each byte that belongs to no printable character of UTF-8 is a question mark.
[[nodiscard]] std::string printable(std::string text);

class process_memory {
public:
    /// Throws cannot_look: there is no such process, it may not be read, it has no pilfer, or another one.
    explicit process_memory(pid_t process);
    process_memory(process_memory const&) = delete;
    process_memory& operator=(process_memory const&) = delete;
    ~process_memory();

    [[nodiscard]] pid_t process() const noexcept { return m_process; }
    /// The name of its main thread, which is that of its program unless it was changed. A character that
    /// is not printable is a question mark in it.
    [[nodiscard]] std::string name() const;
    /// The words in it that hold the newest pool: one for each copy of the library.
    [[nodiscard]] std::vector<address> const& pool_lists() const noexcept { return m_pool_lists; }
    /// The lists of names of objects in it, one for each copy of the library.
    [[nodiscard]] std::vector<address> const& name_lists() const noexcept { return m_name_lists; }
    /// Throws process_has_ended.
    void check_alive() const;
    /// A signal or a debugger has stopped it.
    [[nodiscard]] bool is_stopped() const;

    /// False: not all of it is readable.
    [[nodiscard]] bool read(address from, void* to, std::size_t bytes) const noexcept;
    template <class T>
    [[nodiscard]] bool read(address from, copy_of<T>& to) const noexcept {
        return read(from, to.bytes(), sizeof(T));
    }
    /// 0 if it is not readable.
    [[nodiscard]] address word(address from) const noexcept;
    /// A text that ends with a zero, cut to at most `most` bytes; empty if it is not readable or has anything
    /// but printable characters of UTF-8.
    [[nodiscard]] std::string text(address from, std::size_t most) const;

    struct piece {
        address from;
        void* to;
        std::size_t bytes;
        bool done = false;
    };
    /// Reads many pieces with few system calls.
    void read_all(std::vector<piece>& pieces) const noexcept;

private:
    void find_pilfer();
    void look_at_file(address base, std::vector<address>& entries) const;

    pid_t m_process;
    int m_folder = -1; // /proc/PID, which stays that of this process when its number is used again
    std::vector<address> m_pool_lists;
    std::vector<address> m_name_lists;
};

} // namespace tools
