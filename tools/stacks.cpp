#include "stacks.hpp"

#if defined(PILFER_LIBDW)

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "pool/registry.hpp"

namespace tools {
namespace {

constexpr std::size_t most_frames = 64;
constexpr unsigned most_depth = 500;            // of scopes of the source
constexpr std::size_t most_entries = 1'000'000; // of debug information, for one address

/// A register by its number in DWARF, and where a switch keeps it, counted from the saved stack pointer.
struct saved_register {
    int number;
    std::size_t offset;
};
/// The registers that src/context/switch_*.S save.
struct saved_layout {
    std::vector<saved_register> registers;
    std::size_t pc;
    int sp_number;
    std::size_t sp; ///< The stack pointer after the switch, or the place of it.
    bool sp_is_saved;
};

[[nodiscard]] saved_layout layout_of_switch() {
    switch (pilfer::detail::own_reader_entry().layout[1]) {
    case 1: // x86-64: r15, r14, r13, r12, rbx, rbp
        return {{{15, 8}, {14, 16}, {13, 24}, {12, 32}, {3, 40}, {6, 48}, {16, 56}}, 56, 7, 64, false};
    case 2: { // AArch64: x19 to x30
        saved_layout l{{}, 88, 31, 176, false};
        for (int i = 0; i < 12; ++i) {
            l.registers.push_back({19 + i, static_cast<std::size_t>(8 * i)});
        }
        return l;
    }
    default: // ucontext_t of glibc on x86-64
        return {{{12, 72}, {13, 80}, {14, 88}, {15, 96}, {6, 120}, {3, 128}, {16, 168}}, 168, 7, 160, true};
    }
}

[[nodiscard]] std::string demangled(char const* name) {
    if (name == nullptr) {
        return "??";
    }
    int status = 0;
    std::unique_ptr<char, void (*)(void*)> const plain(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                       &std::free);
    std::string text = plain != nullptr ? plain.get() : name;
    constexpr std::string_view version = "pilfer::v0::"; // an inline namespace
    for (auto at = text.find(version); at != std::string::npos; at = text.find(version, at)) {
        text.erase(at + std::string_view("pilfer::").size(), std::string_view("v0::").size());
    }
    return printable(std::move(text));
}

[[nodiscard]] std::string place(char const* file, int line) {
    if (file == nullptr || line <= 0) {
        return {};
    }
    char const* const slash = std::strrchr(file, '/');
    return printable(fmt::format("{}:{}", slash != nullptr ? slash + 1 : file, line));
}

/// The name of an inlined function.
[[nodiscard]] std::string name_of(Dwarf_Die* die) {
    Dwarf_Attribute attribute;
    for (unsigned const kind : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
        if (dwarf_attr_integrate(die, kind, &attribute) != nullptr) {
            return demangled(dwarf_formstring(&attribute));
        }
    }
    char const* const name = dwarf_diename(die);
    return name != nullptr ? printable(name) : "??";
}

[[nodiscard]] int number_in(Dwarf_Die* die, unsigned kind) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, kind, &attribute), &value) == 0 ? static_cast<int>(value) : 0;
}

/// Where the function of that scope was inlined.
[[nodiscard]] std::string place_of_call(Dwarf_Die* unit, Dwarf_Die* scope) {
    Dwarf_Files* files = nullptr;
    std::size_t count = 0;
    if (dwarf_getsrcfiles(unit, &files, &count) != 0) {
        return {};
    }
    auto const file = static_cast<std::size_t>(number_in(scope, DW_AT_call_file));
    return place(dwarf_filesrc(files, file, nullptr, nullptr), number_in(scope, DW_AT_call_line));
}

/// The unit of an address; null: there is no debug information. clang writes no table of units.
[[nodiscard]] Dwarf_Die* unit_at(Dwfl_Module* module, Dwarf_Addr at, Dwarf_Addr* bias) {
    Dwarf_Die* unit = dwfl_module_addrdie(module, at, bias);
    while (unit == nullptr || dwarf_haspc(unit, at - *bias) != 1) {
        unit = dwfl_module_nextcu(module, unit, bias);
        if (unit == nullptr) {
            return nullptr;
        }
    }
    return unit;
}

[[nodiscard]] std::string line_at(Dwarf_Die* unit, Dwarf_Addr at) {
    Dwarf_Line* const found = dwarf_getsrc_die(unit, at);
    int number = 0;
    return found != nullptr && dwarf_lineno(found, &number) == 0
               ? place(dwarf_linesrc(found, nullptr, nullptr), number)
               : "";
}

/// The unit that has the functions of `unit`. With -gsplit-dwarf it is in a file of its own.
[[nodiscard]] Dwarf_Die functions_of(Dwarf_Die const& unit) {
    std::uint8_t kind = 0;
    Dwarf_Die split{};
    bool const known =
        dwarf_cu_info(unit.cu, nullptr, &kind, nullptr, &split, nullptr, nullptr, nullptr) == 0;
    return known && kind == DW_UT_skeleton && split.addr != nullptr ? split : unit;
}

/// Adds the functions that were inlined at an address, outermost first. dwarf_getscopes() looks into no
/// namespace, which is where clang puts functions.
/// `depth`, `left`: bounds for files that are damaged.
void add_inlined(Dwarf_Die* around, Dwarf_Addr at, std::vector<Dwarf_Die>& found, unsigned depth,
                 std::size_t& left) {
    Dwarf_Die die;
    if (depth == 0 || dwarf_child(around, &die) != 0) {
        return;
    }
    do {
        if (left == 0) {
            return;
        }
        --left;
        int const tag = dwarf_tag(&die);
        bool const has_code = dwarf_haspc(&die, at) == 1;
        if (tag == DW_TAG_inlined_subroutine && has_code) {
            found.push_back(die);
        }
        if (has_code || tag == DW_TAG_namespace) {
            add_inlined(&die, at, found, depth - 1, left);
        }
        if (has_code) {
            return; // no sibling has it, too
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

/// Devices can be mapped too, and opening one may have effects or wait. Below 0: there is no regular file.
[[nodiscard]] int open_regular(char const* path) {
    struct stat now {};
    if (::stat(path, &now) != 0 || !S_ISREG(now.st_mode)) {
        return -1;
    }
    return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

} // namespace

class stack_reader::unwinder {
public:
    explicit unwinder(process_memory const& memory)
        : m_memory(memory), m_layout(layout_of_switch()), m_files(dwfl_begin(&file_callbacks)) {
        // It would load debug information from servers, and a look does not wait for a network.
        ::unsetenv("DEBUGINFOD_URLS");
        looked_at = memory.process();
        update();
    }
    unwinder(unwinder const&) = delete;
    unwinder& operator=(unwinder const&) = delete;
    ~unwinder() { dwfl_end(m_files); }

    void update() {
        m_known.clear();
        bool is_gone = false;
        report(is_gone);
        if (is_gone && m_attached) { // perhaps the file from which libdw has taken the machine's backend
            dwfl_end(m_files);
            m_files = dwfl_begin(&file_callbacks);
            m_attached = false;
            report(is_gone);
        }
        if (!m_attached) {
            m_attached = dwfl_attach_state(m_files, nullptr, m_memory.process(), &thread_callbacks, this);
        }
    }
    [[nodiscard]] std::vector<stack_frame> read(address sp) {
        m_sp = sp;
        m_page = 1; // no page
        m_returns.clear();
        if (m_attached) {
            dwfl_getthread_frames(m_files, m_memory.process(), &add_frame, this);
        }
        std::vector<stack_frame> frames;
        for (address const at : m_returns) {
            std::vector<stack_frame>& known = m_known[at];
            if (known.empty()) {
                describe(at, known);
            }
            frames.insert(frames.end(), known.begin(), known.end());
        }
        return frames;
    }

private:
    /// Adds the files that the process has mapped, and removes the others. `is_gone`: one was removed.
    void report(bool& is_gone) {
        dwfl_report_begin(m_files);
        dwfl_linux_proc_report(m_files, m_memory.process());
        auto const removed = [](Dwfl_Module* /*module*/, void* /*data*/, char const* /*name*/,
                                Dwarf_Addr /*base*/, void* gone) {
            *static_cast<bool*>(gone) = true;
            return static_cast<int>(DWARF_CB_OK);
        };
        dwfl_report_end(m_files, removed, &is_gone);
    }
    /// The process may have other files than this command, in a container.
    static int find_file(Dwfl_Module* module, void** data, char const* name, Dwarf_Addr base, char** file,
                         Elf** elf) {
        std::string const path = fmt::format("/proc/{}/root{}", looked_at, name);
        int const opened = name[0] == '/' ? open_regular(path.c_str()) : -1;
        if (opened < 0) { // deleted, for example: then its memory is read
            return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
        }
        *file = ::strdup(path.c_str());
        return opened;
    }
    static pid_t next_thread(Dwfl* /*files*/, void* me, void** thread) {
        bool const first = *thread == nullptr;
        *thread = me;
        return first ? looked_at : 0;
    }
    static bool get_thread(Dwfl* /*files*/, pid_t /*thread*/, void* me, void** thread) {
        *thread = me;
        return true;
    }
    static bool read_word(Dwfl* /*files*/, Dwarf_Addr at, Dwarf_Word* word, void* me) {
        return static_cast<unwinder*>(me)->read_word(at, word);
    }
    /// Words of a stack are read page by page.
    [[nodiscard]] bool read_word(address at, Dwarf_Word* word) {
        address const page = at - at % m_bytes.size();
        if (at % sizeof *word != 0) {
            return m_memory.read(at, word, sizeof *word);
        }
        if (page != m_page && !m_memory.read(page, m_bytes.data(), m_bytes.size())) {
            return false;
        }
        m_page = page;
        std::memcpy(word, &m_bytes[at - page], sizeof *word);
        return true;
    }
    static bool set_registers(Dwfl_Thread* thread, void* me) {
        unwinder& self = *static_cast<unwinder*>(me);
        saved_layout const& l = self.m_layout;
        bool good = true;
        auto const set = [&](int number, Dwarf_Word value) {
            good = dwfl_thread_state_registers(thread, number, 1, &value) && good;
        };
        Dwarf_Word word = 0;
        for (saved_register const& r : l.registers) {
            good = self.read_word(self.m_sp + r.offset, &word) && good;
            set(r.number, word);
        }
        word = self.m_sp + l.sp;
        good = (!l.sp_is_saved || self.read_word(self.m_sp + l.sp, &word)) && good;
        set(l.sp_number, word);
        good = self.read_word(self.m_sp + l.pc, &word) && good;
        dwfl_thread_state_register_pc(thread, word);
        return good;
    }
    static int add_frame(Dwfl_Frame* frame, void* me) {
        unwinder& self = *static_cast<unwinder*>(me);
        Dwarf_Addr pc = 0;
        if (!dwfl_frame_pc(frame, &pc, nullptr) || self.m_returns.size() == most_frames) {
            return DWARF_CB_ABORT;
        }
        self.m_returns.push_back(pc);
        return DWARF_CB_OK;
    }

    /// Appends the functions that were inlined at a return address, then the one that contains it.
    void describe(address at, std::vector<stack_frame>& frames) const {
        Dwarf_Addr const call = at - 1; // the call may be the last instruction of its function
        Dwfl_Module* const module = dwfl_addrmodule(m_files, call);
        if (module == nullptr) {
            frames.push_back({at, "??", {}});
            return;
        }
        Dwarf_Addr bias = 0;
        Dwarf_Die* const unit = unit_at(module, call, &bias);
        std::string line = unit != nullptr ? line_at(unit, call - bias) : "";
        std::vector<Dwarf_Die> inlined;
        Dwarf_Die functions{};
        if (unit != nullptr) {
            functions = functions_of(*unit);
            std::size_t left = most_entries;
            add_inlined(&functions, call - bias, inlined, most_depth, left);
        }
        for (auto scope = inlined.rbegin(); scope != inlined.rend(); ++scope) {
            frames.push_back({0, name_of(&*scope), line});
            line = place_of_call(&functions, &*scope);
        }
        frames.push_back({at, demangled(dwfl_module_addrname(module, call)), line});
    }

    static constexpr Dwfl_Callbacks file_callbacks{&find_file, &dwfl_standard_find_debuginfo, nullptr,
                                                   nullptr};
    static constexpr Dwfl_Thread_Callbacks thread_callbacks{&next_thread,   &get_thread, &read_word,
                                                            &set_registers, nullptr,     nullptr};
    /// find_file() has no argument for it. A command looks at one process.
    static inline pid_t looked_at = 0;

    process_memory const& m_memory;
    saved_layout m_layout;
    Dwfl* m_files;
    bool m_attached = false;
    address m_sp = 0;   ///< of the stack that is being unwound
    address m_page = 1; ///< of m_bytes
    std::array<std::byte, 4096> m_bytes{};
    std::vector<address> m_returns;
    std::unordered_map<address, std::vector<stack_frame>> m_known; ///< Since the last update().
};

bool stack_reader::is_available() noexcept { return true; }
stack_reader::stack_reader(process_memory const& memory) : m_unwinder(std::make_unique<unwinder>(memory)) {}
stack_reader::~stack_reader() = default;
void stack_reader::update() { m_unwinder->update(); }
std::vector<stack_frame> stack_reader::read(address sp) { return m_unwinder->read(sp); }

} // namespace tools

#else

namespace tools {

class stack_reader::unwinder {};
bool stack_reader::is_available() noexcept { return false; }
stack_reader::stack_reader(process_memory const& /*memory*/) {}
stack_reader::~stack_reader() = default;
void stack_reader::update() {}
std::vector<stack_frame> stack_reader::read(address /*sp*/) { return {}; }

} // namespace tools

#endif
