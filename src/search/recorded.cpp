#include "search/recorded.hpp"

#if defined(PILFER_TEST)

#include <cerrno>
#include <charconv>
#include <fstream>
#include <ios>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[noreturn]] void malformed(std::string_view line) {
    throw std::invalid_argument("pilfer: a recording has a line that is none: \"" +
                                std::string(line.substr(0, 64)) + "\"");
}

/// A number at the beginning of `text`, which loses it.
template <class T>
[[nodiscard]] T take_number(std::string_view& text, std::string_view line, int base = 10) {
    T n = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), n, base);
    if (end.ec != std::errc()) {
        malformed(line);
    }
    text.remove_prefix(static_cast<std::size_t>(end.ptr - text.data()));
    return n;
}

void read_operation(recorded_order& r, std::string_view line) {
    std::string_view rest = line;
    const auto task = take_number<std::uint32_t>(rest, line);
    if (!rest.starts_with(' ')) {
        malformed(line);
    }
    rest.remove_prefix(1);
    const auto word = take_number<std::uint32_t>(rest, line);
    if (!rest.empty() || task >= r.tasks.size() || word >= r.words.size()) {
        malformed(line);
    }
    r.operations.push_back({task, word});
}

void read_line(recorded_order& r, std::string_view line) {
    std::string_view rest = line.substr(line.size() < 2 ? line.size() : 2);
    if (r.has_ended) {
        malformed(line);
    } else if (line.starts_with("w ")) {
        r.words.emplace_back(rest);
    } else if (line.starts_with("t ")) {
        r.tasks.push_back(take_number<std::uint64_t>(rest, line, 16));
        if (!rest.empty() || !r.begun.insert(r.tasks.back()).second) {
            malformed(line);
        }
    } else if (line.starts_with("n ")) {
        r.reasons += (r.reasons.empty() ? "" : ", ") + std::string(rest);
    } else if (line == "e" || line.starts_with("e ")) {
        r.has_ended = true;
        r.failure = rest;
    } else {
        read_operation(r, line);
    }
}

} // namespace

std::string first_line(std::string_view text) { return std::string(text.substr(0, text.find('\n'))); }

std::string recorded_order::text_of(std::size_t number) const {
    return "task " + std::to_string(operations[number].task + 1) + ' ' + words[operations[number].word];
}

std::string text_of_schedule(std::string_view word) {
    if (!word.starts_with('@')) {
        return std::string(word);
    }
    const std::string name(word.substr(1));
    std::ifstream in(name, std::ios::binary);
    if (!in) {
        throw std::system_error(errno, std::generic_category(), "pilfer: " + name);
    }
    std::string text;
    try {
        text.assign(std::istreambuf_iterator<char>(in), {});
    } catch (const std::ios_base::failure& e) {
        throw std::system_error(e.code(), "pilfer: " + name); // a folder
    }
    if (text.empty()) { // an empty schedule would be none
        throw std::invalid_argument("pilfer: " + name + ": it is empty, so it is no schedule");
    }
    return text;
}

recorded_order recorded_order_of(std::string_view text) {
    recorded_order r;
    r.of_main = text.starts_with(recording_of_main_begins);
    if (!r.of_main && !text.starts_with(recording_begins)) {
        malformed(first_line(text));
    }
    r.text = text;
    text.remove_prefix(first_line(text).size() + 1);
    // A last line without an end is one that the program has not finished. It may consist of zeros.
    for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        read_line(r, text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return r;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
