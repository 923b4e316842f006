#include "machine.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>

namespace showcase {
namespace {

std::string processor_name(char const* instruction_set) {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name"))
            if (std::size_t const colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return instruction_set;
}

std::string compiler_name() {
#ifdef __clang__
    return fmt::format("clang++ {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
    return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

} // namespace

machine this_machine() {
    utsname system{};
    ::uname(&system);
    machine here;
    here.processor = processor_name(system.machine);
    here.cores = static_cast<unsigned>(::sysconf(_SC_NPROCESSORS_ONLN));
    here.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    here.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
    here.compiler = compiler_name();
    here.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    return here;
}

} // namespace showcase
