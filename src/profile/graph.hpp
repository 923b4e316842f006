// The file of a task graph: docs/profiling.md has its grammar.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

namespace pilfer {
inline namespace v0 {
namespace profile {

/// The actions of one task, as the words of its line.
class line {
public:
    void computed(std::uint64_t ns) {
        if (ns != 0) {
            word('\0', ns);
        }
    }
    /// The first word: the number of the function that the task runs.
    void runs(std::uint64_t function) { word('@', function); }
    void forked(std::uint64_t task) { word('+', task); }
    void spawned(std::uint64_t task) { word('>', task); }
    void waited(std::uint64_t task) { word('-', task); }
    /// From here on the task holds the lock, until unlocked().
    void locked(std::uint64_t lock) { word('(', lock); }
    void unlocked(std::uint64_t lock) { word(')', lock); }
    /// What follows was forked, or goes on, at this place.
    void at(std::uint64_t place) {
        if (place != m_place) {
            m_place = place;
            word(':', place);
        }
    }
    [[nodiscard]] const std::string& words() const noexcept { return m_words; }

private:
    void word(char sign, std::uint64_t n) {
        m_words += ' ';
        if (sign != '\0') {
            m_words += sign;
        }
        m_words += std::to_string(n);
    }
    std::string m_words;
    std::uint64_t m_place = 0;
};

inline void write_head(std::ostream& out) { out << "pilfer-graph 3\n"; }
inline void write_task(std::ostream& out, std::uint64_t task, const line& l) {
    out << std::to_string(task) + l.words() + '\n'; // the stream's locale may group digits
}
inline void write_function(std::ostream& out, std::uint64_t function, const std::string& name) {
    out << "function " + std::to_string(function) + ' ' + name + '\n';
}
/// `line` 0: `name` is that of a function, because the file is not known.
inline void write_line(std::ostream& out, std::uint64_t place, unsigned line, const std::string& name) {
    out << "line " + std::to_string(place) + ' ' + std::to_string(line) + ' ' + name + '\n';
}
/// `place`: where it was locked first; 0: not known.
inline void write_lock(std::ostream& out, std::uint64_t lock, std::uint64_t place) {
    out << "lock " + std::to_string(lock) + ' ' + std::to_string(place) + '\n';
}
inline void write_end(std::ostream& out, std::uint64_t tasks) {
    out << "end " + std::to_string(tasks) + '\n';
}

} // namespace profile
} // namespace v0
} // namespace pilfer
