// The file of a journal: a head, then a record for each part that has ended.
//
//     "pilfer journal 1", 16 bytes
//     the size and the bytes of journal_facts, and their checksum
//     for each part: its number, the size and the bytes of its value, and a checksum of these
//
// Whatever ends the process at whatever time leaves a file whose last record may be cut off. Records are
// given to the system one by one, without a wait for the disk: a machine that loses its power may lose some.
#include <pilfer/detail/cluster/journal.hpp>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pilfer/timer.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using cluster::archive;
using cluster::archive_error;

constexpr std::string_view magic = "pilfer journal 1";

/// `values` with the checksum after them.
template <class... T>
[[nodiscard]] std::vector<std::byte> sealed(const T&... values) {
    archive out;
    (out.put(values), ...);
    const std::uint64_t sum = journal::checksum(out.bytes());
    out.put(sum);
    return std::move(out.bytes());
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw std::runtime_error("pilfer::cluster: the journal " + path + " " + why);
}

[[nodiscard]] std::string text_of(int error) { return std::generic_category().message(error); }

/// Reads a value and the checksum after it. False if they are cut off or changed. `at` is after them.
template <class T>
[[nodiscard]] bool read_sealed(std::span<const std::byte> all, std::size_t& at, T& value) {
    const std::span<const std::byte> rest = all.subspan(at);
    try {
        archive in(rest);
        value = in.take<T>();
        const auto sum = in.take<std::uint64_t>();
        archive again;
        again.put(value);
        const std::size_t size = again.bytes().size();
        if (journal::checksum(rest.first(size)) != sum) {
            return false;
        }
        at += size + sizeof sum;
        return true;
    } catch (const archive_error&) {
        return false;
    }
}

[[nodiscard]] std::string words(const journal_facts& f) {
    return std::to_string(f.count) + " elements from " + std::to_string(static_cast<std::int64_t>(f.first)) +
           " on";
}

/// Ends with an error unless the bytes begin with this head.
void check_head(const std::string& path, std::span<const std::byte> bytes, const journal_facts& facts) {
    if (bytes.size() < magic.size() || std::memcmp(bytes.data(), magic.data(), magic.size()) != 0) {
        fail(path, "is another file, or of another version of pilfer; it has not been changed");
    }
    std::size_t at = magic.size();
    journal_facts there;
    if (!read_sealed(bytes, at, there)) {
        fail(path, "has a damaged head; it has not been changed");
    }
    if (there.count != facts.count || there.first != facts.first) {
        fail(path, "belongs to another call: it has " + words(there) + " instead of " + words(facts));
    }
    if (there != facts) {
        fail(path,
             "belongs to another call: its functions or its values have other types, or a C program's job "
             "or array is another one");
    }
}

} // namespace

journal::journal(bool has_file, std::uint64_t parts)
    : m_has_file(has_file), m_parts(parts), m_seen(has_file ? parts : 0) {}

/// FNV-1a (Fowler, Noll and Vo), 64 bits. Not sanitized: it also reads whole segments of the program, with
/// the zones between variables that AddressSanitizer has poisoned.
PILFER_NO_SANITIZE std::uint64_t journal::checksum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t sum = 0xcbf2'9ce4'8422'2325u;
    for (const std::byte b : bytes) {
        sum = (sum ^ static_cast<std::uint64_t>(b)) * 0x100'0000'01b3u;
    }
    return sum;
}

journal::~journal() {
    if (m_file >= 0) {
        ::close(m_file); // and gives the lock away
    }
}

/// Nothing if the file's system knows no locks.
void journal::lock(std::chrono::milliseconds patience) const {
    constexpr std::chrono::milliseconds pause(20);
    while (::flock(m_file, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) {
            continue;
        }
        if (errno != EWOULDBLOCK) {
            return;
        }
        if (patience <= pause) {
            fail(m_path, "is used by another job; it has not been changed");
        }
        sleep_for(pause);
        patience -= pause;
    }
}

std::vector<std::byte> journal::read() const {
    constexpr std::size_t block = std::size_t{1} << 16;
    std::vector<std::byte> bytes;
    for (std::size_t size = 0;;) {
        bytes.resize(size + block);
        const ssize_t n = ::read(m_file, bytes.data() + size, block);
        if (n < 0 && errno != EINTR) {
            fail(m_path, "cannot be read: " + text_of(errno));
        }
        size += n > 0 ? static_cast<std::size_t>(n) : 0;
        if (n == 0) {
            bytes.resize(size);
            return bytes;
        }
    }
}

/// At the end of the file.
void journal::write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = ::write(m_file, bytes.data(), bytes.size());
        if (n < 0 && errno != EINTR) {
            fail(m_path, "cannot be written: " + text_of(errno));
        }
        bytes = bytes.subspan(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
}

std::vector<saved_part> journal::open(const std::string& path, const journal_facts& facts,
                                      check_function check, std::chrono::milliseconds patience) {
    const std::lock_guard hold(m_lock);
    m_path = path;
    m_file = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    if (m_file < 0) {
        fail(path, "cannot be opened: " + text_of(errno));
    }
    struct stat status {};
    if (::fstat(m_file, &status) != 0 || !S_ISREG(status.st_mode)) {
        fail(path, "is no regular file");
    }
    lock(patience);

    std::vector<std::byte> head(magic.size());
    std::memcpy(head.data(), magic.data(), magic.size());
    const std::vector<std::byte> rest = sealed(facts);
    head.insert(head.end(), rest.begin(), rest.end());

    const std::vector<std::byte> bytes = read();
    std::vector<saved_part> parts;
    std::size_t good = 0; // bytes
    // A file that ends inside of the head was cut off when it was made.
    if (bytes.size() >= head.size() || !std::equal(bytes.begin(), bytes.end(), head.begin())) {
        check_head(path, bytes, facts);
        good = head.size();
        saved_part p;
        for (std::size_t at = good; read_sealed(bytes, at, p); good = at) {
            if (p.part >= m_parts || m_seen[p.part]) {
                break;
            }
            try {
                archive in(p.value);
                check(in);
                in.end();
            } catch (const archive_error& e) {
                fail(path, std::string("has a value that cannot be read: ") + e.what());
            }
            m_seen[p.part] = true;
            parts.push_back(std::move(p));
        }
    }
    if (good < bytes.size() && ::ftruncate(m_file, static_cast<off_t>(good)) != 0) {
        fail(path, "cannot be cut after its last whole record: " + text_of(errno));
    }
    if (good == 0) {
        write(head);
    }
    std::ranges::sort(parts, {}, &saved_part::part);
    return parts;
}

void journal::keep(saved_part&& p) {
    if (!m_has_file) {
        const std::lock_guard hold(m_lock);
        m_unsent.push_back(std::move(p));
        return;
    }
    if (p.part >= m_parts) { // another rank has sent it
        throw cluster::archive_error("a part that the journal does not have");
    }
    const std::vector<std::byte> record = sealed(p);
    const std::lock_guard hold(m_lock);
    if (m_failed || m_seen[p.part]) {
        return;
    }
    m_seen[p.part] = true;
    try {
        write(record);
    } catch (const std::runtime_error& e) {
        m_failed = true; // a record that is cut off must be the last one
        std::fprintf(stderr, "%s. The run goes on without it.\n", e.what());
    }
}

std::vector<saved_part> journal::take_unsent() {
    const std::lock_guard hold(m_lock);
    return std::exchange(m_unsent, {});
}

} // namespace detail
} // namespace v0
} // namespace pilfer
