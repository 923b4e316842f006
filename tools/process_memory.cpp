// The ELF note of the library leads to its pools: src/pool/registry.cpp.
#include "process_memory.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "pool/registry.hpp"

namespace tools {
namespace {

using pilfer::detail::reader_entry;

/// The bytes of the printable character with which a text begins; 0: there is none. Terminals obey the
/// characters from U+0080 to U+009F.
[[nodiscard]] std::size_t printable_bytes(std::string_view text) noexcept {
    auto const first = static_cast<unsigned char>(text[0]);
    if (first < 0x80) {
        return first >= ' ' && first != 0x7f ? 1 : 0;
    }
    bool const controls = first == 0xc2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xa0;
    return controls ? 0 : pilfer::detail::utf8_bytes(text);
}
/// The bytes of the printable characters with which a text begins.
[[nodiscard]] std::size_t all_printable_bytes(std::string_view text) noexcept {
    std::size_t at = 0;
    for (std::size_t n = 1; n != 0 && at < text.size(); at += n) {
        n = printable_bytes(text.substr(at));
    }
    return at;
}
[[nodiscard]] std::string folder_of(pid_t process) { return fmt::format("/proc/{}", process); }

/// The value of a line "NAME: value" of /proc/self/status; empty: there is none.
[[nodiscard]] std::string own_status(std::string_view name) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with(name)) {
            return line.substr(std::min(line.find_first_not_of("\t ", name.size()), line.size()));
        }
    }
    return {};
}

/// For a command that the kernel did not let in: names those that it would.
[[nodiscard]] std::string who_may_read() {
    int scope = 0;
    std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
    constexpr unsigned sys_ptrace = 19; // CAP_SYS_PTRACE
    std::uint64_t const mine = std::strtoull(own_status("CapEff:").c_str(), nullptr, 16);
    if (scope == 3) {
        return "nobody may, because /proc/sys/kernel/yama/ptrace_scope is 3";
    }
    if ((mine >> sys_ptrace & 1) != 0) {
        return "the kernel refuses it although this command has the capability SYS_PTRACE: the process "
               "belongs "
               "to another user namespace, or a security module protects it";
    }
    if (::geteuid() == 0) {
        return "this root lacks the capability SYS_PTRACE, which a container gets by --cap-add SYS_PTRACE";
    }
    return fmt::format("only its own user and root may, and only root where "
                       "/proc/sys/kernel/yama/ptrace_scope is not 0 (here it is {})",
                       scope);
}

/// For a program whose library has another layout than this command: says what can show it.
[[nodiscard]] std::string other_layout(std::vector<std::uint64_t> const& theirs) {
    reader_entry const& mine = pilfer::detail::own_reader_entry();
    std::size_t const at = pilfer::detail::place_of_build_kind;
    if (theirs.size() > at && theirs[0] == mine.layout[0] &&
        (theirs[at] & pilfer::detail::build_of_test) != (mine.layout[at] & pilfer::detail::build_of_test)) {
        return "is linked with pilfer::test, which no command can show: use pool.dump() or the gdb script";
    }
    return "uses another version or build of pilfer than this command: use the command that was built with "
           "its "
           "library, pool.dump() or the gdb script";
}

[[noreturn]] void refused(pid_t process, int error) {
    if (error == EACCES || error == EPERM) {
        throw cannot_look(fmt::format("process {} may not be read: {}", process, who_may_read()));
    }
    throw cannot_look(fmt::format("process {} cannot be read: {}", process, std::strerror(error)));
}

} // namespace

std::string printable(std::string text) {
    for (std::size_t at = 0; (at += all_printable_bytes(std::string_view(text).substr(at))) < text.size();) {
        text[at] = '?';
    }
    return text;
}

process_memory::process_memory(pid_t process) : m_process(process) {
    m_folder = ::open(folder_of(process).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (m_folder < 0) {
        throw cannot_look(fmt::format("there is no process {}", process));
    }
    try {
        find_pilfer();
    } catch (...) {
        ::close(m_folder);
        throw;
    }
}

process_memory::~process_memory() { ::close(m_folder); }

std::string process_memory::name() const {
    std::ifstream file(folder_of(m_process) + "/comm");
    std::string all{std::istreambuf_iterator<char>(file), {}};
    if (all.ends_with('\n')) {
        all.pop_back();
    }
    return printable(std::move(all));
}

bool process_memory::is_stopped() const {
    std::ifstream file(folder_of(m_process) + "/stat");
    std::string const all{std::istreambuf_iterator<char>(file), {}};
    std::size_t const name = all.rfind(')'); // the state follows the name, which may contain anything
    char const state = name != std::string::npos && name + 2 < all.size() ? all[name + 2] : '?';
    return state == 'T' || state == 't';
}

void process_memory::check_alive() const {
    if (::faccessat(m_folder, "maps", F_OK, 0) != 0 || m_pool_lists.empty()) {
        throw process_has_ended(fmt::format("process {} has ended", m_process));
    }
    std::uint64_t probe = 0;
    if (!read(m_pool_lists.front(), &probe, sizeof probe)) {
        throw process_has_ended(fmt::format("process {} has ended or runs another program", m_process));
    }
}

bool process_memory::read(address from, void* to, std::size_t bytes) const noexcept {
    iovec const here{to, bytes};
    iovec const there{reinterpret_cast<void*>(from), bytes};
    return ::process_vm_readv(m_process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

address process_memory::word(address from) const noexcept {
    address w = 0;
    return from != 0 && read(from, &w, sizeof w) ? w : 0;
}

std::string process_memory::text(address from, std::size_t most) const {
    constexpr address page = 4096;
    std::string all;
    while (from != 0 && all.size() < most) {
        std::array<char, 64> part{};
        std::size_t const n = std::min<std::size_t>(
            {part.size(), most - all.size(), page - from % page}); // the next page may be none
        if (!read(from, part.data(), n)) {
            return {};
        }
        auto const end = std::find(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(n), '\0');
        all.append(part.begin(), end);
        if (end != part.begin() + static_cast<std::ptrdiff_t>(n)) {
            break;
        }
        from += n;
    }
    std::size_t const good = all_printable_bytes(all);
    bool const is_cut = all.size() == most && all.size() - good < 4 && good < most &&
                        static_cast<unsigned char>(all[good]) >= 0xc2; // inside a character
    return good == all.size() || is_cut ? all.substr(0, good) : std::string();
}

void process_memory::read_all(std::vector<piece>& pieces) const noexcept {
    constexpr std::size_t at_once = 1'000; // the system takes 1,024
    static thread_local std::array<iovec, at_once> here;
    static thread_local std::array<iovec, at_once> there;
    for (std::size_t first = 0; first < pieces.size();) {
        std::size_t const n = std::min(at_once, pieces.size() - first);
        for (std::size_t i = 0; i < n; ++i) {
            piece const& p = pieces[first + i];
            here[i] = {p.to, p.bytes};
            there[i] = {reinterpret_cast<void*>(p.from), p.bytes};
        }
        ssize_t const got = ::process_vm_readv(m_process, here.data(), n, there.data(), n, 0);
        std::size_t left = got > 0 ? static_cast<std::size_t>(got) : 0;
        std::size_t i = 0;
        for (; i < n && pieces[first + i].bytes <= left; ++i) {
            left -= pieces[first + i].bytes;
            pieces[first + i].done = true;
        }
        first += i < n ? i + 1 : n; // a piece that is not readable ends the call
    }
}

void process_memory::look_at_file(address base, std::vector<address>& entries) const {
    Elf64_Ehdr head{};
    if (!read(base, &head, sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum > 64) {
        return;
    }
    std::vector<Elf64_Phdr> parts(head.e_phnum);
    if (!read(base + head.e_phoff, parts.data(), parts.size() * sizeof(Elf64_Phdr))) {
        return;
    }
    auto const loaded =
        std::find_if(parts.begin(), parts.end(), [](auto const& p) { return p.p_type == PT_LOAD; });
    if (loaded == parts.end()) {
        return;
    }
    address const moved = base - (loaded->p_vaddr - loaded->p_offset);
    for (Elf64_Phdr const& p : parts) {
        if (p.p_type != PT_NOTE || p.p_memsz > 65'536) {
            continue;
        }
        std::vector<char> notes(p.p_memsz);
        if (!read(moved + p.p_vaddr, notes.data(), notes.size())) {
            continue;
        }
        for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
            Elf64_Nhdr note{};
            std::memcpy(&note, &notes[at], sizeof note);
            std::size_t const align = p.p_align == 8 ? 8 : 4;
            auto const rounded = [align](std::size_t n) { return (n + align - 1) / align * align; };
            std::size_t const owner = at + sizeof note;
            std::size_t const content = at + rounded(sizeof note + note.n_namesz);
            std::size_t const next = content + rounded(note.n_descsz);
            if (next > notes.size() + align || content + note.n_descsz > notes.size()) {
                break;
            }
            if (note.n_type == 1 && note.n_namesz == sizeof "pilfer" && note.n_descsz == 8 &&
                std::memcmp(&notes[owner], "pilfer", sizeof "pilfer") == 0) {
                std::int64_t distance = 0;
                std::memcpy(&distance, &notes[content], sizeof distance);
                entries.push_back(moved + p.p_vaddr + content + static_cast<address>(distance));
            }
            at = next;
        }
    }
}

void process_memory::find_pilfer() {
    int const file = ::openat(m_folder, "maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        refused(m_process, errno);
    }
    std::FILE* const maps = ::fdopen(file, "r");
    std::vector<address> entries;
    std::array<char, 512> line{};
    bool any = false;
    bool readable = false;
    int error = 0;
    while (std::fgets(line.data(), line.size(), maps) != nullptr) {
        address low = 0;
        address high = 0;
        unsigned long offset = 1;
        std::array<char, 5> rights{};
        if (std::sscanf(line.data(), "%" SCNxPTR "-%" SCNxPTR " %4s %lx", &low, &high, rights.data(),
                        &offset) != 4) {
            continue;
        }
        any = true;
        if (offset != 0 || rights[0] != 'r' || std::strchr(line.data(), '/') == nullptr) {
            continue;
        }
        std::uint32_t probe = 0;
        if (read(low, &probe, sizeof probe)) {
            readable = true;
            look_at_file(low, entries);
        } else {
            error = errno;
        }
    }
    bool const failed = std::ferror(maps) != 0;
    std::fclose(maps);
    if (!readable && error != 0) {
        refused(m_process, error);
    }
    if (!any || failed) {
        throw cannot_look(
            fmt::format("process {} has no memory: it has ended, or belongs to the kernel", m_process));
    }
    if (entries.empty()) {
        throw cannot_look(fmt::format("process {} ({}) does not use pilfer", m_process, name()));
    }
    reader_entry const& mine = pilfer::detail::own_reader_entry();
    std::vector<std::uint64_t> layout;
    for (address const entry : entries) {
        reader_entry theirs{};
        if (!read(entry, &theirs, sizeof theirs) || theirs.words != mine.words) {
            continue;
        }
        layout.resize(mine.words);
        if (read(reinterpret_cast<address>(theirs.layout), layout.data(), layout.size() * sizeof layout[0]) &&
            std::equal(layout.begin(), layout.end(), mine.layout)) {
            m_pool_lists.push_back(reinterpret_cast<address>(theirs.pools));
            m_name_lists.push_back(reinterpret_cast<address>(theirs.names));
        }
    }
    if (m_pool_lists.empty()) {
        throw cannot_look(fmt::format("process {} ({}) {}", m_process, name(), other_layout(layout)));
    }
}

} // namespace tools
