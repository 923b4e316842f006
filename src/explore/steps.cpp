#include "explore/steps.hpp"

#if defined(PILFER_TEST)

#include <algorithm>

#include "names/object_names.hpp"
#include "observe/snapshot.hpp"
#include "platform/symbols.hpp"
#include "pool/pool_core.hpp"
#include "search/user_frames.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// In the text of a deadlock.
constexpr std::size_t most_awaited = 8;
constexpr std::size_t most_frames_said = 3;
constexpr std::uint32_t hash_of_nothing = 2'166'136'261;
/// The kinds of objects in the texts of steps and waits. A promise and its future share one object.
constexpr struct {
    std::string_view text;
    std::string_view kind;
} object_kinds[] = {{"a shared mutex", "shared mutex"},
                    {"a mutex", "mutex"},
                    {"a condition variable", "condition variable"},
                    {"an event", "event"},
                    {"a latch", "latch"},
                    {"a barrier", "barrier"},
                    {"a semaphore", "semaphore"},
                    {"a channel", "channel"},
                    {"a future", "future"},
                    {"a promise", "future"},
                    {"an atomic", "atomic"},
                    {"a timer", "timer"},
                    {"a scope", "scope"},
                    {"its join", "join"},
                    {"a task of a graph", "graph task"},
                    {"a value of a graph", "graph task"},
                    {"a limit of a graph", "graph limit"},
                    {"a graph", "graph"},
                    {"a stage of a pipeline", "pipeline stage"},
                    {"a pipeline", "pipeline"}};

/// FNV-1a.
void add_to_hash(std::uint32_t& hash, std::string_view text) noexcept {
    for (const char c : text) {
        hash = (hash ^ static_cast<unsigned char>(c)) * 16'777'619;
    }
}

} // namespace

void task_numbers::clear() noexcept {
    m_numbers.clear();
    m_newest = 0;
}

std::uint32_t task_numbers::of(const context* c) {
    std::uint32_t& n = m_numbers[c];
    if (n == 0) {
        n = ++m_newest;
    }
    return n;
}

void step_log::clear(bool is_kept) {
    m_is_kept = is_kept;
    m_hash = hash_of_nothing;
    m_steps.clear();
    m_objects.clear();
}

void step_log::add(std::uint32_t task, const char* name, const char* what, const char* of, const void* object,
                   std::uint32_t other) {
    add_to_hash(m_hash, what);
    add_to_hash(m_hash, of);
    add_to_hash(m_hash, std::to_string(task));
    std::string text = what;
    text += *of != '\0' ? std::string(" ") + of : "";
    m_steps.push_back({task, name != nullptr ? name : "", with_name(std::move(text), object), other});
    m_steps.back().hash = m_hash;
}

std::string step_log::with_name(std::string what, const void* object) {
    if (object == nullptr) {
        return what;
    }
    const auto number = [&](std::string_view kind) {
        const auto known = m_objects.try_emplace({object, kind}, static_cast<unsigned>(m_objects.size() + 1));
        const std::string name = object_names::of(object);
        return std::to_string(known.first->second) + (name.empty() ? "" : " \"" + name + '"');
    };
    for (const auto& k : object_kinds) {
        if (const std::size_t at = what.find(k.text); at != std::string::npos) {
            const bool is_promise = k.text == "a promise";
            return what.replace(at, k.text.size(),
                                (is_promise ? "the promise of " : "") + std::string(k.kind) + ' ' +
                                    number(k.kind));
        }
    }
    return what + " (object " + number("") + ")";
}

std::string text_of_frames(const void* const* frames, std::size_t depth) {
    std::string text;
    for (const user_frame& f : user_frames(frames, depth, most_frames_said)) {
        text += (text.empty() ? "\n    in " : "\n    called by ") + f.function +
                (f.place.empty() ? "" : " (" + f.place + ")");
    }
    return text;
}

std::string text_of_waits(const pool_core& p, task_numbers& tasks, step_log& steps, bool lines_too,
                          bool& elsewhere) {
    const snapshot s = take_snapshot(&p);
    if (lines_too) {
        std::vector<const void*> stacks;
        for (const waiting_context& k : s.waiting) {
            stacks.insert(stacks.end(), k.frames.begin(), k.frames.end());
        }
        learn_lines(stacks);
    }
    const auto name = [&tasks](const waiting_context& k) {
        return "task " + std::to_string(tasks.of(k.at)) + (k.name.empty() ? "" : " \"" + k.name + '"');
    };
    std::vector<std::string> lines;
    for (const waiting_context& k : s.waiting) {
        if (k.owner != &p) {
            continue;
        }
        elsewhere = elsewhere || k.facts.elsewhere != nullptr;
        std::string line = "  " + name(k) + " waits for " +
                           (k.why != nullptr ? steps.with_name(k.why->what, k.object) : "its turn");
        if (k.facts.state != nullptr && k.awaits.empty()) {
            line += std::string(", which is ") + k.facts.state;
        }
        std::vector<std::string> awaited;
        for (const std::size_t i : k.awaits) {
            awaited.push_back(name(s.waiting[i]));
        }
        std::sort(awaited.begin(), awaited.end());
        for (std::size_t i = 0; i < awaited.size() && i < most_awaited; ++i) {
            line += (i == 0 ? ", that is for " : " and ") + awaited[i];
        }
        lines.push_back(line + text_of_frames(k.frames.data(), k.frames.size()));
    }
    os::symbols symbols;
    for (const waiting_coroutine& c : s.coroutines) {
        if (c.owner == &p) {
            lines.push_back("  a coroutine, " + symbols.name(c.code.front(), false) + ", waits for " +
                            c.why->what);
        }
    }
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) {
        text += line + "\n";
    }
    return text;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
