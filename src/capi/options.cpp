// Options by name and text, one row for each.
#include "capi/options.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "balance/text.hpp"
#include "capi/error.hpp"
#include "pool/environment.hpp"

namespace {

using pilfer::options;

struct option {
    std::string_view name;
    const char* takes;
    bool (*set)(options&, std::string_view); ///< false: the text is not one that it takes
    std::string (*get)(const options&);
};

/// The member of options that Path leads to: by a member of options, or by a group and a member of it.
template <auto... Path>
struct member {
    using type = std::remove_reference_t<decltype((std::declval<options&>().*....*Path))>;
    static type& of(options& o) noexcept { return (o.*....*Path); }
    static const type& of(const options& o) noexcept { return (o.*....*Path); }
};

template <class Member, bool MayBeNegative = false>
constexpr option number(std::string_view name) {
    return {name, "a decimal number that its type can hold",
            [](options& o, std::string_view text) {
                typename Member::type n = 0;
                const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), n);
                if (text.empty() || (!MayBeNegative && text.front() == '-') || error != std::errc{} ||
                    stop != text.data() + text.size()) {
                    return false;
                }
                Member::of(o) = n;
                return true;
            },
            [](const options& o) { return std::to_string(Member::of(o)); }};
}

template <class Member>
constexpr option flag(std::string_view name) {
    return {name, "0 or 1",
            [](options& o, std::string_view text) {
                Member::of(o) = text == "1" || (text != "0" && Member::of(o));
                return text == "0" || text == "1";
            },
            [](const options& o) { return std::string(Member::of(o) ? "1" : "0"); }};
}

// In the order of the enumerations.
constexpr std::array<std::string_view, 3> governings = {"automatic", "off", "on"};
constexpr std::array<std::string_view, 4> pins = {"automatic", "off", "compact", "spread"};
constexpr std::array<std::string_view, 4> spins = {"automatic", "latency", "balanced", "battery"};
constexpr std::array<std::string_view, 3> resumes = {"anywhere", "own-thread", "elsewhere"};
constexpr std::array<std::string_view, 3> fulls = {"grow", "wait", "fail"};
constexpr std::array<std::string_view, 2> takings = {"one", "all"};
constexpr std::array<std::string_view, 3> backends = {"automatic", "work_stealing", "one_lock"};

template <class Member, const auto& Words>
constexpr option choice(std::string_view name, const char* takes) {
    return {name, takes,
            [](options& o, std::string_view text) {
                for (std::size_t i = 0; i < Words.size(); ++i) {
                    if (text == Words[i]) {
                        Member::of(o) = static_cast<typename Member::type>(i);
                        return true;
                    }
                }
                return false;
            },
            [](const options& o) { return std::string(Words[static_cast<std::size_t>(Member::of(o))]); }};
}

/// Errors name the wrong word.
bool set_balance(options& o, std::string_view text) {
    const pilfer::unshare kept = o.balance.unshare;
    o.balance = text.empty() ? pilfer::balance_options{} : pilfer::balance::named(text);
    o.balance.unshare = kept;
    return true;
}

constexpr option table[] = {
    number<member<&options::workers>>("workers"),
    number<member<&options::max_workers>>("max_workers"),
    number<member<&options::stack_size>>("stack_size"),
    number<member<&options::max_contexts>>("max_contexts"),
    number<member<&options::max_extra_workers>>("max_extra_workers"),
    flag<member<&options::only_workers>>("only_workers"),
    number<member<&options::attachable>>("attachable"),
    {"balance", "", set_balance, [](const options& o) { return pilfer::balance::name(o.balance); }},
    choice<member<&options::pin>, pins>("pin", "automatic, off, compact or spread"),
    choice<member<&options::governor>, governings>("governor", "automatic, off or on"),
    choice<member<&options::spin>, spins>("spin", "automatic, latency, balanced or battery"),
    {"name", "",
     [](options& o, std::string_view text) {
         pilfer::detail::check_thread_name(text); // here, so that it is not cut when it is read
         o.name = text;
         return true;
     },
     [](const options& o) { return o.name; }},
    number<member<&options::priority>, true>("priority"),
    choice<member<&options::resume>, resumes>("resume", "anywhere, own-thread or elsewhere"),
    choice<member<&options::balance, &pilfer::balance_options::unshare>, takings>("balance.unshare",
                                                                                  "one or all"),
    number<member<&options::queue_capacity>>("queue_capacity"),
    choice<member<&options::when_full>, fulls>("when_full", "grow, wait or fail"),
    flag<member<&options::debug, &pilfer::debug_options::overflow_message>>("debug.overflow_message"),
    number<member<&options::debug, &pilfer::debug_options::stall_report>>("debug.stall_report"),
    number<member<&options::debug, &pilfer::debug_options::dump_signal>>("debug.dump_signal"),
    flag<member<&options::debug, &pilfer::debug_options::count_all>>("debug.count_all"),
    number<member<&options::debug, &pilfer::debug_options::trace_events>>("debug.trace_events"),
    flag<member<&options::debug, &pilfer::debug_options::profile>>("debug.profile"),
    choice<member<&options::backend>, backends>("backend", "automatic, work_stealing or one_lock"),
};

[[nodiscard]] const option& row_of(const char* name) {
    for (const option& row : table) {
        if (row.name == name) {
            return row;
        }
    }
    throw std::invalid_argument("pilfer: there is no option \"" + std::string(name) + "\"");
}

void set(options& o, const char* name, const char* value) {
    const option& row = row_of(name);
    if (!row.set(o, value)) {
        throw std::invalid_argument("pilfer: options." + std::string(name) + " must be " + row.takes +
                                    ", not \"" + value + "\"");
    }
}

using call_of_thread = std::function<void(unsigned)>;

[[nodiscard]] int set_call(pilfer_options* options, call_of_thread pilfer::options::*which,
                           void (*f)(unsigned, void*), void* arg) {
    if (options == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] {
        options->values.*which = f == nullptr ? call_of_thread{} : [f, arg](unsigned i) noexcept {
            pilfer::capi::call(f, i, arg);
        };
    });
}

/// The reader of the environment names the variable in its errors; here the text is an option's.
void say_option(std::string& error) {
    constexpr std::string_view there = "PILFER_BALANCE=";
    if (const auto at = error.find(there); at != std::string::npos) {
        error.replace(at, there.size(), "options.balance=");
    }
}

} // namespace

extern "C" {

int pilfer_options_new(pilfer_options** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = new (std::nothrow) pilfer_options;
    return *out != nullptr ? 0 : PILFER_ENOMEM;
}

void pilfer_options_free(pilfer_options* options) { delete options; }

int pilfer_options_set_advice(pilfer_options* options, unsigned (*advise)(void*), void* arg) {
    if (options == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded([&] {
        if (advise != nullptr) {
            options->values.advice = [advise, arg]() noexcept { return pilfer::capi::call(advise, arg); };
        } else {
            options->values.advice = nullptr;
        }
    });
}

int pilfer_options_set(pilfer_options* options, const char* name, const char* value) {
    if (options == nullptr || name == nullptr || value == nullptr) {
        return PILFER_EINVAL;
    }
    const int code = pilfer::capi::guarded(
        [&] {
            pilfer::options changed = options->values;
            set(changed, name, value);
            options->values = changed;
        },
        &options->error);
    if (code != 0) {
        say_option(options->error);
    }
    return code;
}

int pilfer_options_get(const pilfer_options* options, const char* name, char* text, size_t size) {
    if (options == nullptr || name == nullptr || text == nullptr) {
        return PILFER_EINVAL;
    }
    return pilfer::capi::guarded(
        [&] {
            const std::string value = row_of(name).get(options->values);
            if (value.size() >= size) {
                throw std::invalid_argument("pilfer: too few bytes for the value of options." +
                                            std::string(name));
            }
            std::memcpy(text, value.c_str(), value.size() + 1);
        },
        &options->error);
}

int pilfer_options_on_start(pilfer_options* options, void (*f)(unsigned, void*), void* arg) {
    return set_call(options, &pilfer::options::on_start, f, arg);
}

int pilfer_options_on_stop(pilfer_options* options, void (*f)(unsigned, void*), void* arg) {
    return set_call(options, &pilfer::options::on_stop, f, arg);
}

const char* pilfer_options_error(const pilfer_options* options) {
    return options != nullptr ? options->error.c_str() : "";
}

} // extern "C"
