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
#include <cstring>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using cluster::archive;
using cluster::archive_error;

constexpr std::string_view magic = "pilfer journal 1";

/// FNV-1a (Fowler, Noll and Vo), 64 bits: finds what is torn or has been changed by accident.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> bytes) noexcept {
    std::uint64_t sum = 0xcbf2'9ce4'8422'2325u;
    for (const std::byte b : bytes) {
        sum = (sum ^ static_cast<std::uint64_t>(b)) * 0x100'0000'01b3u;
    }
    return sum;
}

/// `values` with the checksum after them.
template <class... T>
[[nodiscard]] std::vector<std::byte> sealed(const T&... values) {
    archive out;
    (out.put(values), ...);
    const std::uint64_t sum = checksum(out.bytes());
    out.put(sum);
    return std::move(out.bytes());
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
    throw std::runtime_error("pilfer::cluster: the journal " + path + " " + why);
}

[[nodiscard]] std::string text_of(int error) { return std::generic_category().message(error); }

/// All bytes of the file; none if there is no file.
[[nodiscard]] std::vector<std::byte> read_file(const std::string& path) {
    std::FILE* file = std::fopen(path.c_str(), "rb");
    if (file == nullptr) {
        if (errno != ENOENT) {
            fail(path, "cannot be read: " + text_of(errno));
        }
        return {};
    }
    std::vector<std::byte> bytes;
    std::vector<std::byte> block(std::size_t{1} << 16);
    std::size_t n = 0;
    while ((n = std::fread(block.data(), 1, block.size(), file)) != 0) {
        bytes.insert(bytes.end(), block.begin(), block.begin() + static_cast<std::ptrdiff_t>(n));
    }
    const int error = std::ferror(file) != 0 ? errno : 0;
    std::fclose(file);
    if (error != 0) {
        fail(path, "cannot be read: " + text_of(error));
    }
    return bytes;
}

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
        if (checksum(rest.first(size)) != sum) {
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
        fail(path, "belongs to another call: its functions or its values have other types");
    }
}

} // namespace

journal::journal(bool has_file, std::uint64_t parts) : m_has_file(has_file), m_parts(parts) {}

journal::~journal() {
    if (m_file != nullptr) {
        std::fclose(m_file);
    }
}

std::vector<saved_part> journal::open(const std::string& path, const journal_facts& facts,
                                      check_function check) {
    std::vector<std::byte> head(magic.size());
    std::memcpy(head.data(), magic.data(), magic.size());
    const std::vector<std::byte> rest = sealed(facts);
    head.insert(head.end(), rest.begin(), rest.end());

    const std::vector<std::byte> bytes = read_file(path);
    std::vector<saved_part> parts;
    std::size_t good = 0; // bytes
    // A file that ends inside of the head was cut off when it was made.
    if (bytes.size() >= head.size() || !std::equal(bytes.begin(), bytes.end(), head.begin())) {
        check_head(path, bytes, facts);
        good = head.size();
        std::vector<bool> seen(m_parts);
        saved_part p;
        for (std::size_t at = good; read_sealed(bytes, at, p); good = at) {
            if (p.part >= m_parts || seen[p.part]) {
                break;
            }
            try {
                archive in(p.value);
                check(in);
                in.end();
            } catch (const archive_error& e) {
                fail(path, std::string("has a value that cannot be read: ") + e.what());
            }
            seen[p.part] = true;
            parts.push_back(std::move(p));
        }
    }
    if (good < bytes.size()) {
        std::error_code error;
        std::filesystem::resize_file(path, good, error);
        if (error) {
            fail(path, "cannot be cut after its last whole record: " + error.message());
        }
    }
    const std::lock_guard hold(m_lock);
    m_path = path;
    m_file = std::fopen(path.c_str(), "ab");
    if (m_file == nullptr) {
        fail(path, "cannot be written: " + text_of(errno));
    }
    std::setvbuf(m_file, nullptr, _IONBF, 0); // what fwrite() has taken, the system has
    if (good == 0 && std::fwrite(head.data(), 1, head.size(), m_file) != head.size()) {
        fail(path, "cannot be written: " + text_of(errno));
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
    const std::vector<std::byte> record = sealed(p);
    const std::lock_guard hold(m_lock);
    if (m_failed) {
        return;
    }
    if (std::fwrite(record.data(), 1, record.size(), m_file) != record.size()) {
        m_failed = true; // a record that is cut off must be the last one
        std::fprintf(stderr,
                     "pilfer::cluster: the journal %s cannot be written: %s. The run goes on without it.\n",
                     m_path.c_str(), text_of(errno).c_str());
    }
}

std::vector<saved_part> journal::take_unsent() {
    const std::lock_guard hold(m_lock);
    return std::exchange(m_unsent, {});
}

} // namespace detail
} // namespace v0
} // namespace pilfer
