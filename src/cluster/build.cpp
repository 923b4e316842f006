// The build of the program, as the dynamic linker knows its files.
#include "cluster/build.hpp"

#include <link.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <pilfer/detail/cluster/journal.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using bytes = std::span<const std::byte>;
using segments = std::span<const ElfW(Phdr)>;

[[nodiscard]] segments segments_of(const dl_phdr_info& file) { return {file.dlpi_phdr, file.dlpi_phnum}; }

[[nodiscard]] bytes content_of(const dl_phdr_info& file, const ElfW(Phdr) & s) {
    return {reinterpret_cast<const std::byte*>(file.dlpi_addr + s.p_vaddr), s.p_filesz};
}

[[nodiscard]] bool has(const dl_phdr_info& file, const void* code) {
    const auto address = reinterpret_cast<std::uintptr_t>(code);
    return std::ranges::any_of(segments_of(file), [&](const ElfW(Phdr) & s) {
        return s.p_type == PT_LOAD && address - (file.dlpi_addr + s.p_vaddr) < s.p_memsz;
    });
}

/// False for notes that strip or objcopy has removed: their header stays, with the address 0.
[[nodiscard]] bool is_loaded(const dl_phdr_info& file, const ElfW(Phdr) & part) {
    return std::ranges::any_of(segments_of(file), [&](const ElfW(Phdr) & s) {
        return s.p_type == PT_LOAD && (s.p_flags & PF_R) != 0 && part.p_filesz <= s.p_filesz &&
               part.p_vaddr - s.p_vaddr <= s.p_filesz - part.p_filesz;
    });
}

void append_hex(std::string& text, std::byte b) {
    constexpr std::string_view digits = "0123456789abcdef";
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
}

[[nodiscard]] std::string hex(bytes all) {
    std::string text;
    for (const std::byte b : all) {
        append_hex(text, b);
    }
    return text;
}

/// The build ID among the notes of a segment; empty if it is not there.
[[nodiscard]] std::string build_id_in(bytes notes, std::size_t align) {
    const auto padded = [&](std::size_t n) { return (n + align - 1) / align * align; };
    constexpr std::string_view owner("GNU\0", 4);
    ElfW(Nhdr) note;
    while (notes.size() >= sizeof note) {
        std::memcpy(&note, notes.data(), sizeof note);
        notes = notes.subspan(sizeof note);
        const std::size_t name = padded(note.n_namesz);
        if (notes.size() < name || notes.size() - name < note.n_descsz) {
            break;
        }
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == owner.size() &&
            std::memcmp(notes.data(), owner.data(), owner.size()) == 0) {
            return hex(notes.subspan(name, note.n_descsz));
        }
        notes = notes.subspan(std::min(notes.size(), name + padded(note.n_descsz)));
    }
    return {};
}

[[nodiscard]] std::string name_of(const dl_phdr_info& file) {
    for (const auto& s : segments_of(file)) {
        if (s.p_type == PT_NOTE && is_loaded(file, s)) {
            if (std::string id = build_id_in(content_of(file, s), s.p_align == 8 ? 8 : 4); !id.empty()) {
                return id;
            }
        }
    }
    std::string sums;
    for (const auto& s : segments_of(file)) {
        if (s.p_type == PT_LOAD && (s.p_flags & (PF_R | PF_W)) == PF_R) {
            const std::uint64_t sum = journal::checksum(content_of(file, s));
            sums += sums.empty() ? "" : "-";
            sums += hex(std::as_bytes(std::span(&sum, 1)));
        }
    }
    return sums;
}

struct search {
    const void* code;
    dl_phdr_info file{};
    bool is_found = false;
};

int look(dl_phdr_info* file, std::size_t, void* data) noexcept { // nothing may throw through the loader
    auto& s = *static_cast<search*>(data);
    if (s.code != nullptr && !has(*file, s.code)) { // the executable comes first
        return 0;
    }
    s.file = *file;
    s.is_found = true;
    return 1;
}

} // namespace

std::vector<std::string> builds_with(std::span<const void* const> code) {
    // By the files' headers: the offset dlpi_addr is 0 for each file that is loaded at its own address.
    std::map<const ElfW(Phdr)*, std::string> names;
    std::vector<std::string> all;
    for (const void* c : code) {
        search s{c};
        (void)::dl_iterate_phdr(look, &s);
        if (!s.is_found) {
            all.emplace_back();
            continue;
        }
        const auto [at, is_new] = names.try_emplace(s.file.dlpi_phdr);
        if (is_new) {
            at->second = name_of(s.file);
        }
        all.push_back(at->second);
    }
    return all;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
