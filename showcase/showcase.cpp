#include "showcase.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <system_error>

#include "child.hpp"
#include "digest.hpp"
#include "kernels.hpp"
#include "numbers.hpp"
#include "process.hpp"
#include "progress.hpp"
#include "text_input.hpp"
#include "uts.hpp"

namespace showcase {
namespace {

// A path has at most 4,096 bytes, so folders are at most 2,048 deep. For that depth 8 MiB, the size of a main
// thread's stack, are enough.
constexpr std::size_t treehash_stack = 8 * mebibyte;

[[noreturn]] void fail(int error, std::string const& what) {
    throw std::system_error(error, std::generic_category(), what);
}

// A file without a name: it is gone when the last process that has it open ends, however that happens.
class nameless_file {
public:
    explicit nameless_file(int fd, char const* what) : m_fd(fd) {
        if (m_fd < 0)
            fail(errno, what);
    }
    ~nameless_file() { ::close(m_fd); }
    nameless_file(nameless_file const&) = delete;
    nameless_file& operator=(nameless_file const&) = delete;
    int fd() const { return m_fd; }
    /// Children that inherit the descriptor open the file anew by this path.
    std::string path() const { return fmt::format("/proc/self/fd/{}", m_fd); }

    static nameless_file on_disk(std::string const& folder) {
        std::string name = folder + "/.text-XXXXXX";
        int const fd = ::mkstemp(name.data());
        if (fd >= 0)
            ::unlink(name.c_str());
        return nameless_file(fd, "cannot make a file in the output folder");
    }
    static nameless_file in_memory() { return nameless_file(::memfd_create("showcase", 0), "memfd_create"); }

private:
    int m_fd;
};

void write_file(std::string const& path, std::string const& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file)
        fail(errno != 0 ? errno : EIO, "cannot write " + path);
}

std::string read_file(std::string const& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class director {
public:
    explicit director(settings const& chosen)
        : m_chosen(chosen), m_report(plan(chosen)), m_progress(count_steps(m_report)) {}

    report direct() {
        for (std::string const& name : m_chosen.programs) {
            if (name == "treehash")
                treehash();
            if (name == "uts")
                uts();
            if (name == "sortlines")
                sortlines();
            if (name == "wordcount")
                wordcount();
            if (name == "forks")
                run_rounds(m_report.forks, "cost of a fork");
            if (name == "speedups")
                for (kernel_report& kernel : m_report.speed_ups)
                    run_rounds(kernel, "speed-up of " + kernel.name);
            if (name == "timeline")
                trace_one_run();
        }
        return std::move(m_report);
    }

private:
    static report plan(settings const& chosen) {
        report made;
        made.chosen = chosen;
        made.where = this_machine();
        bool incomplete = false;
        for (std::string const& name : chosen.programs) {
            if (name == "forks") {
                made.forks = kernel_rows("fib", fork_runtimes, {1});
                incomplete = incomplete || made.forks.rows.empty();
            }
            if (name == "speedups")
                for (char const* const kernel : {"matmul", "mergesort", "irregular"}) {
                    made.speed_ups.push_back(
                        kernel_rows(kernel, speed_up_runtimes, worker_counts(chosen.workers)));
                    incomplete = incomplete || made.speed_ups.back().rows.empty();
                }
        }
        if (incomplete)
            made.notes.emplace_back(
                "Left out: kernels whose programs are not built (target pilfer_showcase_kernels).");
        return made;
    }

    static std::size_t count_steps(report const& planned) {
        settings const& chosen = planned.chosen;
        std::size_t steps = planned.forks.rows.empty() ? 0 : chosen.repeat;
        for (kernel_report const& kernel : planned.speed_ups)
            steps += kernel.rows.empty() ? 0 : chosen.repeat;
        for (std::string const& name : chosen.programs) {
            if (name == "forks" || name == "speedups")
                continue;
            steps += name == "timeline" ? 2 : chosen.runtimes.size() * chosen.repeat;
            if (name == "treehash")
                steps += 1; // reading the files once
            if (name == "sortlines")
                steps += 2; // making the text; sort
            if (name == "wordcount")
                steps += 1; // making the text
        }
        return steps;
    }

    void treehash() {
        program_report program;
        program.name = "treehash";
        program.input = "SHA-256 of all files below " + m_chosen.folder;
        program.stack_size = treehash_stack;
        program.note = stack_note(program.stack_size, "for up to 2,048 folders inside each other");
        job what = job_for(program, m_chosen.folder);
        what.runtime = m_chosen.runtimes.back();
        m_progress.begin("treehash: reading the files once, so that no runtime has to wait for the disk", 0);
        finished const read = run_process(child_command(what), [this] { m_progress.tick(); });
        m_progress.end(read.failure.empty() ? shown_seconds(read.seconds) : read.failure);
        run_all(program, what);
        m_report.programs.push_back(std::move(program));
    }

    void uts() {
        named_tree const& tree = tree_named(m_chosen.tree);
        program_report program;
        program.name = "uts";
        program.input = fmt::format("unbalanced tree {} with {} nodes, {} levels deep", tree.name,
                                    grouped(tree.shape.nodes), grouped(tree.levels));
        program.stack_size = tree.stack_size;
        if (tree.stack_size != 0)
            program.note = stack_note(tree.stack_size, "for so deep a tree");
        program.result = std::to_string(tree.shape.nodes);
        run_all(program, job_for(program, std::string(tree.name)));
        m_report.programs.push_back(std::move(program));
    }

    void sortlines() {
        nameless_file const text = nameless_file::on_disk(m_chosen.out);
        text_made const made = make_text_into(text, "sortlines", m_chosen.text_bytes);
        program_report program;
        program.name = "sortlines";
        program.input = fmt::format("{} of text out of {} files below {}", shown_bytes(made.bytes),
                                    grouped(made.files), m_chosen.folder);
        run_all(program, job_for(program, text.path()));
        program.rows.push_back(sort_command(program, text.path()));
        m_report.programs.push_back(std::move(program));
    }

    void wordcount() {
        nameless_file const text = nameless_file::on_disk(m_chosen.out);
        text_made const made = make_text_into(text, "wordcount", m_chosen.text_bytes);
        program_report program;
        program.name = "wordcount";
        program.input = fmt::format("words of {} of text out of {} files below {}", shown_bytes(made.bytes),
                                    grouped(made.files), m_chosen.folder);
        run_all(program, job_for(program, text.path()));
        m_report.programs.push_back(std::move(program));
    }

    text_made make_text_into(nameless_file const& text, std::string const& name, std::uint64_t limit) {
        m_progress.begin(name + ": making the text", 0);
        text_made const made = make_text(m_chosen.folder, text.fd(), limit, [this](std::uint64_t bytes) {
            m_progress.tick(shown_bytes(bytes));
        });
        m_progress.end(shown_bytes(made.bytes));
        return made;
    }

    // The rows take turns, as the runtimes of a program do.
    void run_rounds(kernel_report& kernel, std::string const& what) {
        for (unsigned round = 1; round <= m_chosen.repeat && !kernel.rows.empty(); ++round) {
            m_progress.begin(
                m_chosen.repeat > 1 ? fmt::format("{}, round {} of {}", what, round, m_chosen.repeat) : what,
                0);
            for (row& r : kernel.rows)
                run_kernel(kernel, r, m_chosen.repeat, [this] { m_progress.tick(); });
            bool const good =
                std::all_of(kernel.rows.begin(), kernel.rows.end(), [](row const& r) { return r.good(); });
            m_progress.end(good ? "done" : "FAILED");
        }
    }

    // A short text, so that the run's phases can be seen.
    void trace_one_run() {
        constexpr std::uint64_t traced_bytes = 32'000'000;
        nameless_file const text = nameless_file::on_disk(m_chosen.out);
        text_made const made = make_text_into(text, "timeline", std::min(traced_bytes, m_chosen.text_bytes));
        job what;
        what.program = "sortlines";
        what.runtime = "pilfer";
        what.workers = m_chosen.workers;
        what.input = text.path();
        command c = child_command(what);
        nameless_file const trace = nameless_file::in_memory();
        c.environment.emplace_back("PILFER_TRACE", trace.path());
        m_progress.begin("timeline: a traced run of sortlines", 0);
        finished const end = run_process(c, [this] { m_progress.tick(); });
        m_report.run = timeline{};
        if (end.failure.empty()) {
            std::string const events = read_file(trace.path());
            m_report.run = parse_trace(events);
            write_file(m_chosen.out + "/showcase-trace.json", events);
        }
        m_report.run.input = fmt::format("sortlines on {} of text", shown_bytes(made.bytes));
        if (!end.failure.empty())
            m_report.run.failure = end.failure;
        m_progress.end(m_report.run.failure.empty() ? shown_seconds(m_report.run.seconds)
                                                    : "FAILED: " + printable(m_report.run.failure));
    }

    static std::string stack_note(std::size_t bytes, char const* why) {
        return fmt::format(
            "options.stack_size is set to {} MiB {} (OpenMP, oneTBB and the main thread get the same)",
            bytes / mebibyte, why);
    }

    job job_for(program_report const& program, std::string input) const {
        job what;
        what.program = program.name;
        what.input = std::move(input);
        what.workers = m_chosen.workers;
        what.stack_size = program.stack_size;
        return what;
    }

    // The runtimes take turns, so that a machine that slows down slows all of them.
    void run_all(program_report& program, job what) {
        for (std::string const& runtime : m_chosen.runtimes)
            program.rows.push_back({runtime, {}, 0, {}});
        for (unsigned round = 1; round <= m_chosen.repeat; ++round) {
            for (row& r : program.rows) {
                what.runtime = r.runtime;
                std::string step = fmt::format("{} with {}", program.name, shown_runtime(r.runtime));
                if (r.runtime == "serial")
                    step = program.name + " serially";
                if (m_chosen.repeat > 1)
                    step += fmt::format(", run {} of {}", round, m_chosen.repeat);
                m_progress.begin(step, r.seconds.empty() ? 0 : r.seconds.back());
                run_once(program, r, what);
                m_progress.end(r.failure.empty() ? shown_seconds(r.seconds.back())
                                                 : "FAILED: " + printable(r.failure));
            }
        }
    }

    void run_once(program_report& program, row& r, job const& what) {
        finished const end = run_process(child_command(what), [this] { m_progress.tick(); });
        r.peak_bytes = std::max(r.peak_bytes, end.peak_bytes);
        std::string failure = end.failure;
        if (failure.empty()) {
            if (std::optional<outcome> const done = parse_outcome(end.output)) {
                r.seconds.push_back(done->seconds);
                if (program.result.empty())
                    program.result = done->result;
                if (program.facts.items == 0 && done->result == program.result)
                    program.facts = *done;
                if (done->result != program.result)
                    failure = wrong_result(program, done->result);
            } else {
                failure = "gave no outcome";
            }
        }
        if (r.failure.empty())
            r.failure = std::move(failure);
    }

    static std::string wrong_result(program_report const& program, std::string const& got) {
        std::string text = fmt::format("wrong result {} instead of {}", got, program.result);
        if (program.name == "treehash")
            text += " (has a file below the folder changed meanwhile?)";
        return text;
    }

    row sort_command(program_report const& program, std::string const& path) {
        nameless_file const sorted = nameless_file::in_memory();
        command c;
        c.arguments = {"sort", fmt::format("--parallel={}", m_chosen.workers), path};
        c.environment = {{"LC_ALL", "C"}};
        c.output = sorted.fd();
        m_progress.begin("sortlines with sort", 0);
        finished const end = run_process(c, [this] { m_progress.tick(); });
        row r{"sort", {}, end.peak_bytes, end.failure};
        if (r.failure.empty()) {
            std::string hex;
            ::lseek(sorted.fd(), 0, SEEK_SET);
            if (int const error = sha256_of_file(sorted.fd(), hex); error != 0)
                fail(error, "cannot read what sort wrote");
            r.seconds.push_back(end.seconds);
            if (hex != program.result)
                r.failure = wrong_result(program, hex);
        }
        m_progress.end(r.failure.empty() ? shown_seconds(end.seconds) : "FAILED: " + printable(r.failure));
        return r;
    }

    inline static std::vector<std::string> const fork_runtimes{
        "serial", "pilfer_join", "pilfer_spawn", "pilfer_fork", "tbb", "libgomp", "libomp", "rayon"};
    inline static std::vector<std::string> const speed_up_runtimes{"serial", "pilfer_join", "tbb", "libgomp"};

    settings const& m_chosen;
    report m_report;
    progress m_progress;
};

} // namespace

report run_showcase(settings const& chosen) {
    DIR* const folder = ::opendir(chosen.folder.c_str());
    if (folder == nullptr)
        fail(errno, "cannot read the folder " + chosen.folder);
    ::closedir(folder);
    std::error_code error;
    std::filesystem::create_directories(chosen.out, error);
    if (error)
        throw std::system_error(error, "cannot make the output folder " + chosen.out);
    return director(chosen).direct();
}

void save(report const& all) {
    write_file(all.chosen.out + "/showcase.json", as_json(all));
    write_file(all.chosen.out + "/showcase.html", as_html(all));
}

} // namespace showcase
