// The report at the end of the program.
#include <link.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "platform/source_lines.hpp"
#include "race/races.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

using os::source_line;
using os::source_lines;

[[nodiscard]] bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// The owner of a line of code. The algorithms count as the program's: what they touch is its elements.
enum class whose { program, library, standard, unknown };

[[nodiscard]] whose owner(const source_line& l) {
    if (has(l.file, "detail/base/race.hpp") || has(l.function, "pilfer::v0::detail::race::of_program<") ||
        (has(l.function, "pilfer::v0::detail::race::in_own_frame<") && !has(l.file, "include/pilfer/"))) {
        return whose::program; // nothing but calls of its functions
    }
    if (l.file.empty()) {
        return has(l.function, "pilfer::") ? whose::library : whose::unknown;
    }
    if (has(l.file, "include/pilfer/")) {
        const bool algorithm = has(l.file, "pilfer/algorithm") || has(l.file, "pilfer/detail/algorithm/") ||
                               has(l.file, "pilfer/detail/sort/");
        return algorithm ? whose::program : whose::library;
    }
    for (const char* const part : {"/c++/", "/include/bits/", "/sysdeps/", "/usr/include/string.h",
                                   "/usr/include/strings.h", "/usr/include/stdlib.h"}) {
        if (has(l.file, part)) {
            return whose::standard;
        }
    }
    return whose::program;
}

[[nodiscard]] const void* pointer(std::uint64_t address) {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
}

/// The owner of the access at the top of this stack. A call of the standard library counts for its caller.
[[nodiscard]] whose owner(const source_lines& lines, const stack_of& s) {
    for (unsigned i = 0; i < s.depth; ++i) {
        for (const source_line& l : lines.at(pointer(s.at[i]))) {
            const whose w = owner(l);
            if (w == whose::program || w == whose::library) {
                return w;
            }
        }
    }
    return whose::unknown;
}

/// The program's own lines of a stack, the innermost first; the library's if there are no others.
[[nodiscard]] std::vector<source_line> readable(const source_lines& lines, const stack_of& s) {
    std::vector<source_line> own;
    std::vector<source_line> any;
    for (unsigned i = 0; i < s.depth; ++i) {
        for (const source_line& l : lines.at(pointer(s.at[i]))) {
            any.push_back(l);
            if (owner(l) == whose::program && !l.file.empty() && !has(l.file, "include/pilfer/") &&
                !has(l.file, "/c++/")) {
                own.push_back(l);
            }
        }
    }
    return own.empty() ? any : own;
}

[[nodiscard]] std::string short_name(std::string function) {
    for (std::size_t at; (at = function.find("pilfer::v0::")) != std::string::npos;) {
        function.erase(at + 8, 4);
    }
    return function;
}

void add_stack(std::string& to, const source_lines& lines, const stack_of& s, unsigned most) {
    unsigned n = 0;
    for (const source_line& l : readable(lines, s)) {
        if (n++ == most) {
            to += "      ...\n";
            break;
        }
        to += "      " + (l.file.empty() ? std::string("?") : l.file + ":" + std::to_string(l.line));
        to += has(l.function, "pilfer::v0::detail::") ? "\n" : "  " + short_name(l.function) + "\n";
    }
    if (n == 0) {
        char number[64];
        std::snprintf(number, sizeof number, "      ? at 0x%llx (compile with -g)\n",
                      static_cast<unsigned long long>(s.depth != 0 ? s.at[0] : 0));
        to += number;
    }
}

[[nodiscard]] const char* text_of(how branch) {
    static const char* const texts[] = {"in a task outside of any fork", // in the order of `how`
                                        "in a child forked at",
                                        "in an iteration of the loop at",
                                        "in what follows the fork at",
                                        "in a task outside of any fork",
                                        "in the first function of the join at",
                                        "in a later function of the join at",
                                        "in a task started at",
                                        "in a task outside of any fork",
                                        "in a task of the graph that is run at",
                                        "in a stage of the pipeline that is run at"};
    return texts[static_cast<unsigned>(branch)];
}

void add_side(std::string& to, const source_lines& lines, const side& s, const char* before) {
    char text[160];
    std::snprintf(text, sizeof text, "  %s%s of %u byte%s at 0x%llx%s", before, s.writes ? "write" : "read",
                  s.size, s.size == 1 ? "" : "s", static_cast<unsigned long long>(s.address),
                  s.atomic ? " by an atomic operation" : "");
    to += text;
    if (s.locks) {
        to += s.lock_name[0] == '\0' ? ", under a lock that the other one does not hold"
                                     : ", under the lock \"" + std::string(s.lock_name) +
                                           "\", which the other one does not hold";
    }
    to += "\n";
    add_stack(to, lines, s.stack, 16);
    to += std::string("    ") + text_of(s.branch) + "\n";
    if (s.forked.depth != 0) {
        add_stack(to, lines, s.forked, 4);
    }
}

/// The bytes of thread-local objects below a thread pointer.
[[nodiscard]] std::uintptr_t thread_local_bytes() {
    std::uintptr_t bytes = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* object, std::size_t, void* to) {
            for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
                if (object->dlpi_phdr[i].p_type == PT_TLS) {
                    *static_cast<std::uintptr_t*>(to) +=
                        object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align;
                }
            }
            return 0;
        },
        &bytes);
    return bytes;
}

[[nodiscard]] std::string promise(const findings& f, const source_lines& lines, bool local) {
    const bool relaxed =
        !f.edges && std::any_of(f.relaxed, f.relaxed + f.relaxed_count, [&](const atomic_change& a) {
            return owner(lines, stack_of{{a.site, a.returns_to}, 2}) != whose::library;
        });
    const std::pair<bool, const char*> reasons[] = {
        {f.edges, "futures, waits or atomic operations order tasks"},
        {f.readers_before_edges, "parallel readers before these, of which the first ones are remembered"},
        {relaxed, "relaxed atomic operations"},
        {local, "thread-local objects that tasks share, which were not looked at"},
        {f.locks, "locks"},
        {f.readers_lost, "more than 23 parallel readers of one word, of which the latest are remembered"},
        {f.given_up != 0, "orders too long to follow, which were taken for granted"},
        {f.waits.depth != 0, "the program was ended early"},
        {f.outside_threads != 0, "threads outside of the library, which were not looked at"},
    };
    std::string why;
    const auto add = [&why](const char* reason) { why += (why.empty() ? "" : ", ") + std::string(reason); };
    for (const auto& [holds, reason] : reasons) {
        if (holds) {
            add(reason);
        }
    }
    std::for_each(f.not_followed, f.not_followed + f.not_followed_count, add);
    return why.empty() ? "of this input in any schedule" : "in the order of this run (" + why + ")";
}

/// To the file that PILFER_RACE_REPORT names. Without one, and if it cannot be written, to standard error.
void put_out(const std::string& text) {
    const char* const path = std::getenv("PILFER_RACE_REPORT");
    if (path != nullptr && *path != '\0') {
        std::FILE* const file = std::fopen(path, "w");
        bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
        written = (file == nullptr || std::fclose(file) == 0) && written;
        if (written) {
            return;
        }
        std::fprintf(stderr, "pilfer race: the file %s of PILFER_RACE_REPORT cannot be written: %s\n", path,
                     std::strerror(errno));
    }
    std::fwrite(text.data(), 1, text.size(), stderr);
}

} // namespace

int write_report(const findings& f) {
    std::vector<const void*> wanted;
    for (unsigned i = 0; i < f.count; ++i) {
        for (const side* s : {&f.races[i].first, &f.races[i].second}) {
            for (const stack_of* stack : {&s->stack, &s->forked}) {
                for (unsigned k = 0; k < stack->depth; ++k) {
                    wanted.push_back(pointer(stack->at[k]));
                }
            }
        }
    }
    for (unsigned k = 0; k < f.waits.depth; ++k) {
        wanted.push_back(pointer(f.waits.at[k]));
    }
    for (unsigned i = 0; i < f.relaxed_count; ++i) {
        wanted.push_back(pointer(f.relaxed[i].site));
        wanted.push_back(pointer(f.relaxed[i].returns_to));
    }
    source_lines lines;
    lines.learn(wanted);
    const bool known = wanted.empty() || std::any_of(wanted.begin(), wanted.end(),
                                                     [&](const void* a) { return !lines.at(a).empty(); });
    const std::uintptr_t* threads = nullptr;
    const unsigned thread_count = thread_pointers(threads);
    const std::uintptr_t local = thread_local_bytes();
    std::string text;
    unsigned races = 0;
    bool any_local = false;
    for (unsigned i = 0; i < f.count; ++i) {
        const race_found& r = f.races[i];
        bool hidden =
            owner(lines, r.first.stack) == whose::library || owner(lines, r.second.stack) == whose::library;
        for (unsigned t = 0; t < thread_count && !hidden; ++t) {
            hidden = r.first.address < threads[t] && threads[t] - r.first.address <= local;
            any_local = any_local || hidden;
        }
        if (hidden && std::getenv("PILFER_RACE_ALL") == nullptr) {
            continue;
        }
        text += "pilfer race: race " + std::to_string(++races) + "\n";
        add_side(text, lines, r.second, "");
        add_side(text, lines, r.first, "is parallel to an earlier ");
        text += "\n";
    }
    if (!known) {
        text += "pilfer race: there is no addr2line, so lines are missing and the library's own accesses are "
                "shown\n";
    }
    if (f.waits.depth != 0) {
        text += "pilfer race: the program was ended: a task waits for another one without pilfer, and a pool "
                "has one "
                "worker here. It reads one atomic variable again and again:\n";
        add_stack(text, lines, f.waits, 16);
    }
    if (races == 0) {
        text += "pilfer race: no race " + promise(f, lines, any_local) + "\n";
    } else {
        text +=
            "pilfer race: " + std::to_string(races) +
            (races == 1 ? " race; it may hide others: mend it" : " races; they may hide others: mend them") +
            ", and run the program again\n";
    }
    put_out(text);
    return races != 0 ? 66 : -1;
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
