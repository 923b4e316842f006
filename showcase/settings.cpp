#include "settings.hpp"

#include <sched.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace showcase {
namespace {

unsigned usable_cores() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (::sched_getaffinity(0, sizeof cores, &cores) != 0)
        return 1;
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&cores)));
}

} // namespace

std::variant<settings, int> read_settings(int count, char const* const* words) {
    settings chosen;
    std::uint64_t text_megabytes = chosen.text_bytes / 1'000'000;

    CLI::App app{"Runs four real programs serially, with pilfer, with oneTBB and with OpenMP tasks on the "
                 "same input,\n"
                 "compares the results, and writes a table, showcase.json and showcase.html.",
                 "pilfer-showcase"};
    CLI::Option* const folder =
        app.add_option("DIR", chosen.folder, "folder whose files are hashed and sorted (default /usr/share)");
    app.add_option("--workers", chosen.workers, "threads per runtime; 0: one per core (default 0)")
        ->check(CLI::Range(0, 4096));
    app.add_option("--programs", chosen.programs,
                   "some of treehash,uts,sortlines,wordcount,forks,speedups,timeline (default all)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(settings{}.programs));
    app.add_option("--runtimes", chosen.runtimes,
                   "some of serial,pilfer,tbb,openmp,std (default all but std, the standard "
                   "library's parallel algorithms)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember({"serial", "pilfer", "tbb", "openmp", "std"}));
    CLI::Option* const repeat =
        app.add_option("--repeat", chosen.repeat,
                       "runs of each program with each runtime; the median counts (default 3)")
            ->check(CLI::Range(1, 1000));
    app.add_option("--size", chosen.tree, "tree of uts: T1, T3, T1L or T3L (default T1)")
        ->check(CLI::IsMember({"T1", "T3", "T1L", "T3L"}));
    CLI::Option* const text =
        app.add_option("--text-size", text_megabytes,
                       "size of the text for sortlines and wordcount in MB (default 200)")
            ->check(CLI::Range(1, 100'000));
    app.add_flag("--quick", chosen.quick,
                 "small data: one run each, /usr/include when no DIR is given, 16 MB of text");
    app.add_option("--out", chosen.out, "folder for showcase.json and showcase.html (default ./out)");

    try {
        app.parse(count, words);
    } catch (CLI::ParseError const& error) {
        return app.exit(error) == 0 ? 0 : exit_bad_usage;
    }
    if (chosen.quick) {
        if (folder->empty())
            chosen.folder = "/usr/include";
        if (repeat->empty())
            chosen.repeat = 1;
        if (text->empty())
            text_megabytes = 16;
    }
    chosen.text_bytes = text_megabytes * 1'000'000;
    if (chosen.workers == 0)
        chosen.workers = usable_cores();
    return chosen;
}

} // namespace showcase
