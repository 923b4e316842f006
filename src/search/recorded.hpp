// The text of a recording: the tasks of a run on several workers, and the order of their operations.
//
// A word, a task or an operation for each line, in the order in which they happened:
//   recorded 1           Of a whole program: recorded main 1
//   w locks a mutex      The first word is number 0.
//   t 9e3779b97f4a7c15   The name of a task. The first one is number 0.
//   0 0                  Task 0 locks a mutex.
//   n a cancellation     Why nothing from here on can be repeated.
//   e                    The end, with the first line of the failure.
#pragma once

#if defined(PILFER_TEST)

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct recorded_order {
    struct operation {
        std::uint32_t task;
        std::uint32_t word;
    };
    std::string text;
    std::vector<std::string> words{};
    std::vector<std::uint64_t> tasks{};
    std::unordered_set<std::uint64_t> begun{}; ///< the same, to look for one
    std::vector<operation> operations{};
    std::string reasons{}; ///< Why it cannot be repeated; empty: it can.
    bool of_main = false;  ///< Of a whole program.
    bool has_ended = false;
    std::string failure{}; ///< Its first line. Empty: the run has passed, or has not ended.

    [[nodiscard]] std::string text_of(std::size_t number) const;
};

inline constexpr std::string_view recording_begins = "recorded 1\n";
inline constexpr std::string_view recording_of_main_begins = "recorded main 1\n";
/// The first line of `text`.
[[nodiscard]] std::string first_line(std::string_view text);
/// The text of a schedule: `word` itself, or for "@FILE" the text in that file. Throws std::system_error.
[[nodiscard]] std::string text_of_schedule(std::string_view word);
/// Reads the text of a recording, perhaps of a program that died while it wrote. Throws std::invalid_argument
/// that says what is wrong.
[[nodiscard]] recorded_order recorded_order_of(std::string_view text);

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
