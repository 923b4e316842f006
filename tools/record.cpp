// pilfer record: runs a program that is linked with pilfer::test on several workers, and records the order of
// what its tasks do.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "program.hpp"

namespace tools {
namespace {

struct record_settings {
    std::string output;
    unsigned workers = 0;
    std::vector<std::string> program;
};

/// The lines of a recording (src/search/recorded.hpp).
struct recorded_text {
    std::string all;
    std::size_t operations = 0;
    std::string reasons;
    bool has_end = false;

    explicit recorded_text(std::string const& file) {
        std::ifstream in(file, std::ios::binary);
        all.assign(std::istreambuf_iterator<char>(in), {});
        all.resize(all.rfind('\n') + 1); // zeros follow if the program has died
        for (std::size_t at = 0; at < all.size();) {
            std::string_view const line(all.data() + at, all.find('\n', at) - at);
            at += line.size() + 1;
            operations += !line.empty() && line[0] >= '0' && line[0] <= '9' ? 1 : 0;
            has_end = has_end || line == "e" || line.starts_with("e ");
            if (line.starts_with("n ")) {
                reasons += (reasons.empty() ? "" : ", ") + std::string(line.substr(2));
            }
        }
    }
};

/// True if the program itself is the cause of such an end, and not another process.
[[nodiscard]] bool is_failure(ending const& e) {
    constexpr int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    return e.signal == 0 ? e.code != 0
                         : std::find(std::begin(faults), std::end(faults), e.signal) != std::end(faults);
}

/// The words of `pilfer check` for such an end (src/check/whole_main.cpp).
[[nodiscard]] std::string text_of(ending const& e) {
    return "the program has ended inside main() " +
           (e.signal != 0 ? fmt::format("by signal {}, {}", e.signal, ::strsignal(e.signal))
                          : fmt::format("with exit code {}", e.code));
}

/// A program that has died could not write its end.
void complete(std::string const& file, recorded_text const& text, ending const& ended) {
    if (!text.has_end && !text.all.empty()) {
        std::filesystem::resize_file(file, text.all.size());
        if (is_failure(ended)) {
            std::ofstream(file, std::ios::binary | std::ios::app) << "e " << text_of(ended) << '\n';
        }
    }
}

/// No folder, pipe or device, whose end may never come.
[[nodiscard]] bool is_file(std::string const& file) {
    std::error_code none;
    return std::filesystem::is_regular_file(file, none);
}

/// The file of one recording, which no other program writes meanwhile. A link stays.
///
/// The program locks the bytes of the text (src/platform/mapped_text.cpp), and the command the byte after
/// them. A lock of an open file description, because one of a process would end with any descriptor of the
/// file.
class output_file {
public:
    explicit output_file(std::string const& file)
        : m_file(is_file(file) || !std::filesystem::exists(file)
                     ? ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)
                     : -1) {}
    output_file(output_file const&) = delete;
    output_file& operator=(output_file const&) = delete;
    ~output_file() {
        if (m_file >= 0) {
            ::close(m_file);
        }
    }

    /// False: the program will say why.
    [[nodiscard]] bool is_open() const { return m_file >= 0; }
    /// Locks all of it. False: another program writes it.
    [[nodiscard]] bool lock() const {
        return set_lock(F_WRLCK, 0) || (errno != EAGAIN && errno != EACCES); // there may be no locks at all
    }
    /// An older recording might be taken for the one of this run.
    void empty() const { (void)::ftruncate(m_file, 0); }
    /// From now on the program may write.
    void unlock_text() const { (void)set_lock(F_UNLCK, bytes_of_text); }

private:
    static constexpr off_t bytes_of_text = std::numeric_limits<off_t>::max() / 2;

    /// `length` 0: without an end.
    [[nodiscard]] bool set_lock(short how, off_t length) const {
        struct flock bytes {};
        bytes.l_type = how;
        bytes.l_whence = SEEK_SET;
        bytes.l_len = length;
        return ::fcntl(m_file, F_OFD_SETLK, &bytes) == 0;
    }

    int m_file;
};

/// Nothing was recorded. A link stays.
void remove_empty(std::string const& file) {
    std::error_code ignored;
    std::filesystem::path const target = std::filesystem::canonical(file, ignored);
    if (std::filesystem::file_size(target, ignored) == 0) {
        (void)std::filesystem::remove(target, ignored);
    }
}

[[nodiscard]] int record(record_settings const& s) {
    if (!may_have_test_library("record", s.program[0])) {
        return exit_bad_usage;
    }
    std::string const file =
        s.output.empty() ? std::filesystem::path(s.program[0]).filename().string() + ".recording" : s.output;
    ::setenv("PILFER_RECORD", file.c_str(), 1);
    ::unsetenv("PILFER_CHECK");
    ::unsetenv("PILFER_SCHEDULE");
    if (s.workers != 0) {
        ::setenv("PILFER_WORKERS", std::to_string(s.workers).c_str(), 1);
    }
    output_file const output(file);
    if (output.is_open()) {
        if (!output.lock()) {
            fmt::print(stderr, "pilfer: record: another program writes '{}'\n", file);
            return exit_bad_usage;
        }
        output.empty();
        output.unlock_text();
    }
    ending const ended = run_program("record", s.program);
    if (!output.is_open() || !output.lock()) {
        return ended.code; // the program has said why
    }
    recorded_text const text(file);
    if (!ended.was_executed() || text.all.empty()) {
        remove_empty(file);
        return ended.code; // it has said why
    }
    complete(file, text, ended);
    fmt::print(stderr, "pilfer: record: {} operations are in '{}'. ", text.operations, file);
    if (text.reasons.empty()) {
        fmt::print(stderr, "pilfer check --replay '{}' repeats them.\n", file);
    } else {
        fmt::print(stderr, "They cannot be repeated, because of: {}\n", text.reasons);
    }
    return ended.code;
}

} // namespace

void add_record(CLI::App& app, int& code) {
    auto const s = std::make_shared<record_settings>();
    CLI::App* const command = app.add_subcommand(
        "record", "Runs PROGRAM, which is linked with pilfer::test, on several workers, and "
                  "writes the order of what its tasks do, for pilfer check --replay");
    command->add_option("--output", s->output, "the file; otherwise PROGRAM.recording");
    command->add_option("--workers", s->workers, "of the program; otherwise as usual, but at least 2")
        ->check(CLI::Range(1, 4096));
    command->footer("The exit code is that of PROGRAM; 126 and 127: PROGRAM could not be executed.");
    takes_program(*command);
    command->callback([command, s, &code] {
        s->program = program_of(*command);
        code = record(*s);
    });
}

} // namespace tools
