#include "platform/cpus.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace os {
namespace {

using quota = std::optional<unsigned>;

quota smaller(quota a, quota b) {
    if (!a || !b) {
        return a ? a : b;
    }
    return std::min(*a, *b);
}

quota cpus_of(double limit, double period) {
    if (!(limit > 0 && period > 0)) { // also what is no number at all
        return {};
    }
    const double cpus = limit / period;
    const auto whole = static_cast<unsigned>(std::min(cpus, 1e6));
    return std::max(1U, whole + (static_cast<double>(whole) < cpus ? 1 : 0));
}

quota read_v2(const std::string& folder) {
    std::ifstream file(folder + "/cpu.max");
    std::string limit;
    double period = 0;
    if (!(file >> limit >> period) || limit == "max") {
        return {};
    }
    return cpus_of(std::strtod(limit.c_str(), nullptr), period);
}

quota read_v1(const std::string& folder) {
    double limit = 0;
    double period = 0;
    std::ifstream quota_file(folder + "/cpu.cfs_quota_us");
    std::ifstream period_file(folder + "/cpu.cfs_period_us");
    if (!(quota_file >> limit) || !(period_file >> period)) {
        return {};
    }
    return cpus_of(limit, period);
}

/// The folder of `path` and all its parents up to the mount.
template <class Read>
quota along(const std::string& mount, std::string path, Read read) {
    quota least;
    for (;;) {
        while (!path.empty() && path.back() == '/') {
            path.pop_back();
        }
        least = smaller(least, read(mount + path));
        if (path.empty()) {
            return least;
        }
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
}

bool names_cpu(std::string_view controllers) {
    std::stringstream list{std::string(controllers)};
    for (std::string one; std::getline(list, one, ',');) {
        if (one == "cpu") {
            return true;
        }
    }
    return false;
}

/// Where a hierarchy is mounted, from /proc/self/mountinfo; a container may see a subtree only.
struct mount {
    std::string point;
    std::string subtree;
};

std::optional<mount> find_mount(const std::string& root, bool v2) {
    std::ifstream file(root + "/proc/self/mountinfo");
    for (std::string line; std::getline(file, line);) {
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) {
            continue;
        }
        std::istringstream front(line.substr(0, dash));
        std::istringstream back(line.substr(dash + 3));
        std::string id, parent, device, subtree, point, type, source, flags;
        front >> id >> parent >> device >> subtree >> point;
        back >> type >> source >> flags;
        if (v2 ? type == "cgroup2" : (type == "cgroup" && names_cpu(flags))) {
            return mount{point, subtree};
        }
    }
    return {};
}

quota read_hierarchy(const std::string& root, const std::string& path, bool v2) {
    const auto where = find_mount(root, v2);
    if (!where) {
        return {};
    }
    std::string below = path;
    const std::size_t prefix = where->subtree.size();
    // "/box" is no parent of "/boxes".
    if (where->subtree != "/" && below.starts_with(where->subtree) &&
        (below.size() == prefix || below[prefix] == '/')) {
        below.erase(0, prefix);
    }
    const std::string base = root + where->point;
    return v2 ? along(base, below, read_v2) : along(base, below, read_v1);
}

} // namespace

std::optional<unsigned> cgroup_cpus(const std::string& root) {
    quota least;
    std::ifstream file(root + "/proc/self/cgroup");
    for (std::string line; std::getline(file, line);) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        const std::string path = line.substr(second + 1);
        if (controllers.empty() || names_cpu(controllers)) {
            least = smaller(least, read_hierarchy(root, path, controllers.empty()));
        }
    }
    return least;
}

std::optional<unsigned> workers_from(const char* environment) {
    if (environment == nullptr) {
        return {};
    }
    unsigned n = 0;
    const char* end = environment + std::strlen(environment);
    const auto [stop, error] = std::from_chars(environment, end, n);
    if (error != std::errc{} || stop != end || n < 1 || n > 4096) {
        throw std::invalid_argument("pilfer: PILFER_WORKERS must be a number from 1 to 4096, not \"" +
                                    std::string(environment) + "\"");
    }
    return n;
}

unsigned automatic_workers() {
    if (const auto wanted = workers_from(std::getenv("PILFER_WORKERS"))) {
        return *wanted;
    }
    return granted_cpus();
}

unsigned granted_cpus() {
    const quota granted = smaller(affinity_cpus(), cgroup_cpus(""));
    return std::clamp(granted.value_or(1), 1U, 4096U);
}

} // namespace os
} // namespace v0
} // namespace pilfer
