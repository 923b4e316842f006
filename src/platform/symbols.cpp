#include "platform/symbols.hpp"

#include <cxxabi.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

constexpr std::size_t longest_name = 240;   // templates of closures have names without end
constexpr std::size_t longest_path = 4'096; // PATH_MAX

struct function {
    std::uintptr_t start; // in the file
    std::uintptr_t size;
    std::string name;
};

/// One loaded file.
struct module {
    bool read = false;
    std::vector<function> functions;
};

class descriptor {
public:
    explicit descriptor(const char* path) noexcept : m_file(open(path, O_RDONLY | O_CLOEXEC)) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (m_file >= 0) {
            close(m_file);
        }
    }
    [[nodiscard]] bool read(void* to, std::size_t bytes, std::uint64_t from) const noexcept {
        return m_file >= 0 &&
               pread(m_file, to, bytes, static_cast<off_t>(from)) == static_cast<ssize_t>(bytes);
    }

private:
    int m_file;
};

/// A section, empty if it cannot be read or has no sensible size.
[[nodiscard]] std::vector<char> section(const descriptor& file, const ElfW(Shdr) & header) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;
    std::vector<char> bytes;
    if (header.sh_size <= most) {
        bytes.resize(header.sh_size);
        if (!file.read(bytes.data(), bytes.size(), header.sh_offset)) {
            bytes.clear();
        }
    }
    return bytes;
}

void read_functions(module& m, const std::string& path) {
    m.read = true;
    const descriptor file(path.c_str());
    ElfW(Ehdr) head;
    if (!file.read(&head, sizeof head, 0) ||
        std::string_view(reinterpret_cast<char*>(head.e_ident), 4) != ELFMAG ||
        head.e_shentsize != sizeof(ElfW(Shdr))) {
        return;
    }
    std::vector<ElfW(Shdr)> sections(head.e_shnum);
    if (!file.read(sections.data(), sections.size() * sizeof(ElfW(Shdr)), head.e_shoff)) {
        return;
    }
    for (const auto wanted : {SHT_SYMTAB, SHT_DYNSYM}) { // the first has all, and may be stripped
        for (const auto& s : sections) {
            if (s.sh_type != static_cast<ElfW(Word)>(wanted) || s.sh_link >= sections.size()) {
                continue;
            }
            const std::vector<char> symbols = section(file, s);
            std::vector<char> names = section(file, sections[s.sh_link]);
            names.push_back('\0');
            for (std::size_t at = 0; at + sizeof(ElfW(Sym)) <= symbols.size(); at += sizeof(ElfW(Sym))) {
                ElfW(Sym) symbol;
                std::copy_n(symbols.data() + at, sizeof symbol, reinterpret_cast<char*>(&symbol));
                // The type is in the low half of st_info for both sizes of ELF.
                if ((symbol.st_info & 0xf) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
                    symbol.st_name < names.size()) {
                    m.functions.push_back({symbol.st_value, symbol.st_size, names.data() + symbol.st_name});
                }
            }
        }
        if (!m.functions.empty()) {
            return;
        }
    }
}

[[nodiscard]] std::string hexadecimal(std::uintptr_t n) {
    char digits[2 * sizeof n];
    const auto end = std::to_chars(digits, digits + sizeof digits, n, 16).ptr;
    return "0x" + std::string(digits, end);
}

[[nodiscard]] std::string readable(const std::string& name) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> plain(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    std::string text = plain != nullptr ? plain.get() : name;
    // Users do not write the inline namespace.
    for (std::size_t at = 0; (at = text.find("pilfer::v0::", at)) != std::string::npos;) {
        text.erase(at + 8, 4);
    }
    if (text.size() > longest_name) {
        text.replace(longest_name, std::string::npos, "...");
    }
    return text;
}

struct search {
    std::uintptr_t address;
    std::uintptr_t base = 0;
    // Copied under the loader's lock, because afterwards another thread may unload the file with its name.
    // The room is made before, because nothing may throw through the loader.
    std::string path{};
};

int look_at_object(dl_phdr_info* object, std::size_t, void* argument) {
    auto& s = *static_cast<search*>(argument);
    for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
        const auto& segment = object->dlpi_phdr[i];
        const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type == PT_LOAD && s.address >= from && s.address - from < segment.p_memsz) {
            s.base = object->dlpi_addr;
            s.path.assign(object->dlpi_name, strnlen(object->dlpi_name, s.path.capacity()));
            return 1;
        }
    }
    return 0;
}

} // namespace

struct symbols::tables {
    std::map<std::string, module> modules;
};

symbols::symbols() : m_tables(std::make_unique<tables>()) {}
symbols::~symbols() = default;

loaded_from file_around(std::uintptr_t address) {
    search s{address};
    s.path.reserve(longest_path);
    if (dl_iterate_phdr(&look_at_object, &s) == 0) {
        return {};
    }
    return {std::move(s.path), address - s.base, true};
}

std::string path_to_open(const loaded_from& f) { return !f.path.empty() ? f.path : "/proc/self/exe"; }

std::string symbols::name(const void* address, bool returns) {
    std::string raw = raw_name(address, returns);
    return raw.starts_with("_Z") ? readable(raw) : raw; // "f" would be demangled to "float"
}

std::string symbols::raw_name(const void* address, bool returns) {
    const loaded_from from = file_around(reinterpret_cast<std::uintptr_t>(address) - (returns ? 1 : 0));
    if (!from.found) {
        return "?";
    }
    module& m = m_tables->modules[from.path];
    if (!m.read) {
        read_functions(m, path_to_open(from));
    }
    for (const function& f : m.functions) {
        if (from.address >= f.start && from.address - f.start < f.size) {
            return f.name;
        }
    }
    return "? (" + (!from.path.empty() ? from.path : "the program") + " + " + hexadecimal(from.address) + ")";
}

} // namespace os
} // namespace v0
} // namespace pilfer
