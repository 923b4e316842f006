#include "check/settings.hpp"

#if defined(PILFER_TEST)

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

#include "platform/whole_program.hpp"
#include "search/chooser.hpp"
#include "search/recorded.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[noreturn]] void wrong(std::string_view word, const char* why) {
    throw std::invalid_argument("pilfer: PILFER_CHECK: \"" + std::string(word) + "\": " + why);
}

[[nodiscard]] std::uint64_t number(std::string_view word, std::string_view value, std::uint64_t least,
                                   std::uint64_t most) {
    std::uint64_t n = 0;
    const auto end = std::from_chars(value.data(), value.data() + value.size(), n);
    if (end.ec != std::errc() || end.ptr != value.data() + value.size() || n < least || n > most) {
        throw std::invalid_argument("pilfer: PILFER_CHECK: \"" + std::string(word) +
                                    "\": it must be a number from " + std::to_string(least) + " to " +
                                    std::to_string(most));
    }
    return n;
}

[[nodiscard]] test::strategy strategy_of(std::string_view word, std::string_view value) {
    if (value == "mixed") {
        return test::strategy::mixed;
    }
    if (value == "random") {
        return test::strategy::random;
    }
    if (value == "pct") {
        return test::strategy::pct;
    }
    if (value == "exhaustive") {
        return test::strategy::exhaustive;
    }
    wrong(word, "it must be mixed, random, pct or exhaustive");
}

void set(check_settings& s, std::string_view word) {
    const std::string_view name = word.substr(0, word.find('='));
    const std::string_view value = name.size() < word.size() ? word.substr(name.size() + 1) : "";
    constexpr std::uint64_t most_seconds = 86'400;
    if (name == "schedules") {
        s.schedules = number(word, value, 1, UINT64_MAX);
    } else if (name == "strategy") {
        s.how.strategy = strategy_of(word, value);
    } else if (name == "seed") {
        s.how.seed = number(word, value, 0, UINT64_MAX);
    } else if (name == "depth") {
        s.how.depth = static_cast<unsigned>(number(word, value, 1, 1'000));
    } else if (name == "preemptions") {
        s.how.preemptions = number(word, value, 0, UINT64_MAX);
    } else if (name == "steps") {
        s.how.steps = number(word, value, 1, UINT64_MAX);
    } else if (name == "faults") {
        s.how.faults = number(word, value, 0, UINT64_MAX);
    } else if (name == "memory") {
        s.how.memory_faults = number(word, value, 0, 1) != 0;
    } else if (name == "io") {
        s.how.io_faults = number(word, value, 0, 1) != 0;
    } else if (name == "patience") {
        s.how.patience = std::chrono::seconds(number(word, value, 0, most_seconds));
    } else if (name == "minimise") {
        s.how.minimise = number(word, value, 0, 1) != 0;
    } else if (name == "lines") {
        s.how.lines = number(word, value, 0, 1) != 0;
    } else if (name == "replay") {
        s.how.replay = value;
    } else {
        wrong(word, "there is no such word");
    }
}

} // namespace

check_settings check_settings_of(std::string_view text) {
    check_settings s;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        if (!word.empty()) {
            set(s, word);
        }
        text.remove_prefix(word.size() < text.size() ? word.size() + 1 : text.size());
    }
    return s;
}

std::optional<check_settings> take_check_settings() {
    std::optional<check_settings> s;
    if (const char* const all = std::getenv("PILFER_CHECK"); all != nullptr) {
        const std::string text = all;
        os::forget_variable("PILFER_CHECK");
        s = check_settings_of(text);
    }
    const char* const schedule = os::safe_variable("PILFER_SCHEDULE");
    if (schedule == nullptr || (s && !s->how.replay.empty())) {
        return s;
    }
    std::string text = text_of_schedule(schedule);
    if (!s && !text.starts_with("main:") && !text.starts_with(recording_of_main_begins)) {
        if (*schedule == '@') {
            (void)plan_of(text); // throws if it is none, because perhaps no call of test::schedules() looks
        }
        return {};
    }
    s = s.value_or(check_settings{});
    s->shown_as = schedule;
    s->how.replay = std::move(text);
    os::forget_variable("PILFER_SCHEDULE");
    return s;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
