// The report at the end of the program.
#include "race/detector.hpp"

#if defined(PILFER_RACE)

#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "race/lines.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace race {
namespace {

[[nodiscard]] bool has(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
}

/// The owner of a line of code. The algorithms count as the program's: what they touch is its elements.
enum class whose { program, library, standard, unknown };

[[nodiscard]] whose owner(const source_line& l) {
    if (has(l.file, "detail/base/race.hpp") || has(l.function, "pilfer::detail::race::of_program<") ||
        (has(l.function, "pilfer::detail::race::in_own_frame<") && !has(l.file, "include/pilfer/"))) {
        return whose::program; // nothing but calls of its functions
    }
    if (l.line == "?" || l.line == "0") {
        return has(l.function, "pilfer::") ? whose::library : whose::unknown;
    }
    if (l.file.empty()) {
        if (l.function.compare(0, 8, "pilfer::") == 0) {
            return whose::library;
        }
        return l.function.compare(0, 5, "std::") == 0 ? whose::standard : whose::unknown;
    }
    if (has(l.file, "include/pilfer/")) {
        const bool algorithm = has(l.file, "pilfer/algorithm") || has(l.file, "pilfer/detail/algorithm/");
        return algorithm ? whose::program : whose::library;
    }
    if (has(l.file, "/c++/") || has(l.file, "/include/bits/") || has(l.file, "/sysdeps/")) {
        return whose::standard;
    }
    return whose::program;
}

/// The owner of the access at the top of this stack. A call of the standard library counts for its caller.
[[nodiscard]] whose owner(const line_table& lines, const stack_of& s) {
    for (unsigned i = 0; i < s.depth; ++i) {
        for (const source_line& l : lines.at(s.at[i])) {
            const whose w = owner(l);
            if (w == whose::program || w == whose::library) {
                return w;
            }
        }
    }
    return whose::unknown;
}

/// The program's own lines of a stack, the innermost first; the library's if there are no others.
[[nodiscard]] std::vector<source_line> readable(const line_table& lines, const stack_of& s) {
    std::vector<source_line> own;
    std::vector<source_line> any;
    for (unsigned i = 0; i < s.depth; ++i) {
        for (const source_line& l : lines.at(s.at[i])) {
            any.push_back(l);
            if (owner(l) == whose::program && !has(l.file, "include/pilfer/") && !has(l.file, "/c++/")) {
                own.push_back(l);
            }
        }
    }
    return own.empty() ? any : own;
}

void add_stack(std::string& to, const line_table& lines, const stack_of& s, unsigned most) {
    unsigned n = 0;
    for (const source_line& l : readable(lines, s)) {
        if (n++ == most) {
            to += "      ...\n";
            break;
        }
        to += "      " + (l.file.empty() ? std::string("?") : l.file + ":" + l.line);
        to += has(l.function, "pilfer::detail::") ? "\n" : "  " + l.function + "\n";
    }
    if (n == 0) {
        char number[64];
        std::snprintf(number, sizeof number, "      ? at 0x%llx (compile with -g)\n",
                      static_cast<unsigned long long>(s.depth != 0 ? s.at[0] : 0));
        to += number;
    }
}

[[nodiscard]] const char* text_of(how branch) {
    switch (branch) {
    case how::child:
        return "in a child forked at";
    case how::element:
        return "in an iteration of the loop at";
    case how::first_of_join:
        return "in the first function of the join at";
    case how::second_of_join:
        return "in a later function of the join at";
    case how::async:
        return "in a task started at";
    case how::rest:
        return "in what follows the fork at";
    case how::start:
    case how::joined:
    case how::call:
        break;
    }
    return "in a task outside of any fork";
}

void add_side(std::string& to, const line_table& lines, const side& s, const char* before) {
    char text[160];
    std::snprintf(text, sizeof text, "  %s%s of %u byte%s at 0x%llx%s\n", before, s.writes ? "write" : "read",
                  s.size, s.size == 1 ? "" : "s", static_cast<unsigned long long>(s.address),
                  s.locks != 0 ? ", under a lock that the other one does not hold" : "");
    to += text;
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

[[nodiscard]] std::string promise(const findings& f, const line_table& lines, bool local) {
    std::string why;
    const auto add = [&why](const char* reason) { why += (why.empty() ? "" : ", ") + std::string(reason); };
    if (f.edges) {
        add("futures, waits or atomic operations order tasks");
    }
    if (f.readers_before_edges) {
        add("parallel readers before these, of which the first ones are remembered");
    }
    for (unsigned i = 0; !f.edges && i < f.relaxed_count; ++i) {
        if (owner(lines, stack_of{{f.relaxed[i].site, f.relaxed[i].returns_to}, 2}) != whose::library) {
            add("relaxed atomic operations");
            break;
        }
    }
    if (local) {
        add("thread-local objects that tasks share, which were not looked at");
    }
    if (f.locks) {
        add("locks");
    }
    if (f.readers_lost) {
        add("more than 23 parallel readers of one word, of which the latest are remembered");
    }
    if (f.given_up != 0) {
        add("orders too long to follow, which were taken for granted");
    }
    if (f.outside_threads != 0) {
        add("threads outside of the library, which were not looked at");
    }
    for (unsigned i = 0; i < f.not_followed_count; ++i) {
        add(f.not_followed[i]);
    }
    return why.empty() ? "of this input in any schedule" : "in the order of this run (" + why + ")";
}

} // namespace

int write_report(const findings& f) {
    line_table lines;
    for (unsigned i = 0; i < f.count; ++i) {
        for (const side* s : {&f.races[i].first, &f.races[i].second}) {
            for (const stack_of* stack : {&s->stack, &s->forked}) {
                for (unsigned k = 0; k < stack->depth; ++k) {
                    lines.ask(stack->at[k]);
                }
            }
        }
    }
    for (unsigned i = 0; i < f.relaxed_count; ++i) {
        lines.ask(f.relaxed[i].site);
        lines.ask(f.relaxed[i].returns_to);
    }
    const bool known = lines.look_up();
    const std::uintptr_t local = thread_local_bytes();
    std::string text;
    unsigned races = 0;
    bool any_local = false;
    for (unsigned i = 0; i < f.count; ++i) {
        const race_found& r = f.races[i];
        bool hidden =
            owner(lines, r.first.stack) == whose::library || owner(lines, r.second.stack) == whose::library;
        for (unsigned t = 0; t < f.thread_count && !hidden; ++t) {
            hidden = r.first.address < f.threads[t] && f.threads[t] - r.first.address <= local;
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
    if (races == 0) {
        text += "pilfer race: no race " + promise(f, lines, any_local) + "\n";
    } else {
        text += "pilfer race: " + std::to_string(races) + (races == 1 ? " race" : " races") +
                "; there may be others, but not " + promise(f, lines, any_local) + "\n";
    }
    const char* const path = std::getenv("PILFER_RACE_REPORT");
    std::FILE* const to = path != nullptr && *path != '\0' ? std::fopen(path, "w") : stderr;
    if (to != nullptr) {
        std::fwrite(text.data(), 1, text.size(), to);
        if (to != stderr) {
            std::fclose(to);
        }
    }
    return races != 0 ? 66 : -1;
}

} // namespace race
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
