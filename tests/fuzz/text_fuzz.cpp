// Every parser of text: PILFER_WORKERS, PILFER_BALANCE, PILFER_STACK, the options of C, and the cgroup files
// below a made-up root.
//
// The first letter of the input chooses the parser:
// * 'w' and a text for PILFER_WORKERS, 'b' and one for PILFER_BALANCE, 's' and one for PILFER_STACK;
// * 'o', the name of an option, '=' and its value;
// * any other letter and up to five texts, divided by '%'.
//
// The five texts are /proc/self/cgroup, /proc/self/mountinfo, cpu.max, cpu.cfs_quota_us and
// cpu.cfs_period_us. An empty text is replaced by a good one, so that each parser is reached without guessing
// the others.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include <pilfer/pilfer.h>

#include "balance/text.hpp"
#include "fuzz/require.hpp"
#include "platform/cpus.hpp"
#include "pool/environment.hpp"

namespace {

namespace fs = std::filesystem;
namespace os = pilfer::os;

/// The grammar of workers_from(), written independently.
[[nodiscard]] std::optional<unsigned> number(std::string_view text) {
    unsigned n = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            return {};
        }
        n = std::min(n * 10 + static_cast<unsigned>(c - '0'), 100'000U);
    }
    return n >= 1 && n <= 4096 ? std::optional(n) : std::nullopt;
}

void check_workers(const std::string& text) {
    const std::string seen = text.c_str(); // an environment ends at its first zero
    const auto want = number(seen);
    try {
        const auto got = os::workers_from(seen.c_str());
        require(got.has_value() && got == want, "a wrong text was accepted");
    } catch (const std::invalid_argument& e) {
        require(!want, "a good text was refused");
        require(std::string(e.what()).find('"' + seen + '"') != std::string::npos, "the text is not named");
    }
}

/// The grammar of stack_from(), written independently.
void check_stack(const std::string& text) {
    const std::string seen = text.c_str();
    std::string digits = seen;
    unsigned __int128 unit = 1;
    if (const auto at = std::string_view("KkMmGg").find(digits.empty() ? '\0' : digits.back());
        at != std::string_view::npos) {
        unit = static_cast<unsigned __int128>(1) << (10 * (at / 2 + 1));
        digits.pop_back();
    }
    unsigned __int128 n = 0;
    bool good = !digits.empty();
    for (const char c : digits) {
        good = good && c >= '0' && c <= '9';
        n = std::min(n * 10 + static_cast<unsigned char>(c - '0'), static_cast<unsigned __int128>(1) << 60);
    }
    good = good && n * unit >= 16'384 && n * unit <= 1U << 30;
    try {
        require(pilfer::detail::stack_from(seen.c_str()) == n * unit && good, "a wrong text was accepted");
    } catch (const std::invalid_argument& e) {
        require(!good, "a good text was refused");
        require(std::string(e.what()).find('"' + seen + '"') != std::string::npos, "the text is not named");
    }
}

/// An accepted text has a name for each of the three kinds. The names mean the same policy and keep to the
/// ranges.
void check_balance(const std::string& text) {
    const std::string seen = text.c_str();
    pilfer::balance_options o;
    try {
        pilfer::balance::resolve(o, seen.c_str());
    } catch (const std::invalid_argument& e) {
        require(std::string(e.what()).find('"' + seen + '"') != std::string::npos, "the text is not named");
        return;
    }
    const std::string name = pilfer::balance::name(o);
    require(std::count(name.begin(), name.end(), ',') == 2, "a kind is left open");
    pilfer::balance_options again;
    pilfer::balance::resolve(again, name.c_str());
    require(again.steal == o.steal && again.victim == o.victim && again.exposure == o.exposure &&
                again.threshold == o.threshold && again.eager == o.eager,
            "a name means something else");
    require(o.steal.numerator >= 1 && o.steal.numerator <= o.steal.denominator &&
                o.steal.denominator <= 65'536 && o.eager >= 1 && o.eager <= 65'536 &&
                o.threshold.at_least >= 1 && o.threshold.below >= 1 &&
                o.threshold.count <= std::uint64_t{1} << 62 && o.threshold.numerator >= 1 &&
                o.threshold.numerator <= o.threshold.denominator,
            "a number out of its range");
}

/// The value of an option; nothing if it is none.
[[nodiscard]] std::optional<std::string> value_of(const pilfer_options* options, const std::string& name) {
    std::array<char, 128> text{};
    const int code = pilfer_options_get(options, name.c_str(), text.data(), text.size());
    return code == 0 ? std::optional<std::string>(text.data()) : std::nullopt;
}

/// An accepted value can be read again with an equal meaning. A refused one gives a message and changes
/// nothing.
void check_option(const std::string& text) {
    const auto end = text.find('=');
    const std::string name = text.substr(0, end);
    const std::string value = end == std::string::npos ? "" : text.substr(end + 1);
    struct freed {
        pilfer_options* options = nullptr;
        ~freed() { pilfer_options_free(options); }
    } first, second;
    require(pilfer_options_new(&first.options) == 0 && pilfer_options_new(&second.options) == 0, "no memory");
    const auto before = value_of(first.options, name);
    const int code = pilfer_options_set(first.options, name.c_str(), value.c_str());
    require(code == 0 ? before.has_value() : code == PILFER_EINVAL, "another code");
    require((code == 0) == (pilfer_options_error(first.options)[0] == 0), "an error without a text");
    const auto after = value_of(first.options, name);
    require(before.has_value() == after.has_value(), "a value that cannot be read");
    require(code == 0 || before == after, "a wrong text changed something");
    if (after) {
        require(pilfer_options_set(second.options, name.c_str(), after->c_str()) == 0,
                "its own text is refused");
        require(value_of(second.options, name) == after, "its own text means something else");
    }
}

/// A tree of files for this process; only the contents change.
class made_up_root {
public:
    made_up_root() {
        std::string name = (fs::temp_directory_path() / "pilfer-fuzz-XXXXXX").string();
        require(mkdtemp(name.data()) != nullptr, "no folder");
        m_root = name;
        fs::create_directories(m_root / "proc/self");
        fs::create_directories(m_root / "v1/a");
        fs::create_directories(m_root / "v2/a");
    }
    ~made_up_root() { fs::remove_all(m_root); }
    made_up_root(const made_up_root&) = delete;
    made_up_root& operator=(const made_up_root&) = delete;

    /// Most inputs differ in one file only, and writing dominates the cost of a run.
    void write(const char* file, std::string_view text) {
        auto [at, fresh] = m_written.try_emplace(file, text);
        if (fresh || at->second != text) {
            at->second = text;
            std::ofstream(m_root / file, std::ios::binary) << text;
        }
    }
    [[nodiscard]] std::string path() const { return m_root.string(); }

private:
    fs::path m_root;
    std::map<std::string, std::string> m_written;
};

void check_cgroups(std::string_view text) {
    static made_up_root root;
    std::array<std::string_view, 5> texts{"4:cpu,cpuacct:/a\n0::/a\n",
                                          "33 24 0:29 / /v1 rw - cgroup cgroup rw,cpu,cpuacct\n"
                                          "34 24 0:30 / /v2 rw - cgroup2 cgroup2 rw\n",
                                          "max 100000\n", "-1\n", "100000\n"};
    for (auto& one : texts) {
        const auto part = text.substr(0, text.find('%'));
        one = part.empty() ? one : part;
        text.remove_prefix(std::min(text.size(), part.size() + 1));
    }
    root.write("proc/self/cgroup", texts[0]);
    root.write("proc/self/mountinfo", texts[1]);
    root.write("v2/a/cpu.max", texts[2]);
    root.write("v1/a/cpu.cfs_quota_us", texts[3]);
    root.write("v1/a/cpu.cfs_period_us", texts[4]);
    const auto got = os::cgroup_cpus(root.path());
    require(!got || (*got >= 1 && *got <= 1'000'001), "no number of CPUs");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size > 0) {
        const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
        data[0] == 'w'   ? check_workers(text)
        : data[0] == 'b' ? check_balance(text)
        : data[0] == 's' ? check_stack(text)
        : data[0] == 'o' ? check_option(text)
                         : check_cgroups(text);
    }
    return 0;
}
