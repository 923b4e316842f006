// The only file that knows hwloc.
#include "machine/detect.hpp"

#if defined(PILFER_HWLOC)
#include <hwloc.h>

#include <map>
#include <memory>

#include "platform/os.hpp"
#endif

namespace pilfer {
inline namespace v0 {
namespace machine {

#if defined(PILFER_HWLOC)
namespace {

struct destroy {
    void operator()(hwloc_topology_t t) const noexcept { hwloc_topology_destroy(t); }
};
using handle = std::unique_ptr<hwloc_topology, destroy>;

[[nodiscard]] handle make() {
    // Another major version may have another layout with the same names.
    hwloc_topology_t t = nullptr;
    if (hwloc_get_api_version() >> 16 != HWLOC_API_VERSION >> 16 || hwloc_topology_init(&t) != 0) {
        return {};
    }
    handle made(t);
    // Only sysfs is used: the alternative, cpuid, moves the calling thread to one CPU after the other.
    (void)hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    return made;
}

/// Numbers the objects of one level. Their first CPU identifies them in any version of hwloc.
class numbering {
public:
    [[nodiscard]] unsigned of(hwloc_const_cpuset_t cpus) {
        const auto next = static_cast<unsigned>(m_numbers.size());
        return m_numbers.try_emplace(hwloc_bitmap_first(cpus), next).first->second;
    }

private:
    std::map<int, unsigned> m_numbers;
};

/// The object above `pu`, else `otherwise`.
[[nodiscard]] hwloc_obj_t above(hwloc_topology_t t, hwloc_obj_t pu, hwloc_obj_type_t type,
                                hwloc_obj_t otherwise) {
    const hwloc_obj_t found = hwloc_get_ancestor_obj_by_type(t, type, pu);
    return found != nullptr ? found : otherwise;
}

/// The rank of a CPU's kind, the slowest first, if hwloc knows it.
[[nodiscard]] unsigned speed_of(hwloc_topology_t t, hwloc_obj_t pu) {
    const int kind = hwloc_cpukinds_get_by_cpuset(t, pu->cpuset, 0);
    int efficiency = -1;
    if (kind < 0 ||
        hwloc_cpukinds_get_info(t, static_cast<unsigned>(kind), nullptr, &efficiency, nullptr, nullptr, 0) !=
            0 ||
        efficiency < 0) {
        return 0;
    }
    return static_cast<unsigned>(efficiency);
}

[[nodiscard]] std::optional<topology> walk(hwloc_topology_t t) {
    topology cpus;
    numbering cores;
    numbering caches2;
    numbering caches3;
    numbering packages;
    numbering nodes;
    const hwloc_obj_t root = hwloc_get_root_obj(t);
    for (hwloc_obj_t pu = nullptr; (pu = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PU, pu)) != nullptr;) {
        const hwloc_obj_t core = above(t, pu, HWLOC_OBJ_CORE, pu);
        const hwloc_obj_t package = above(t, pu, HWLOC_OBJ_PACKAGE, root);
        const int node = hwloc_bitmap_first(pu->nodeset);
        const hwloc_obj_t memory =
            node >= 0 ? hwloc_get_numanode_obj_by_os_index(t, static_cast<unsigned>(node)) : nullptr;
        const cpu c = {.number = pu->os_index,
                       .core = cores.of(core->cpuset),
                       .cache2 = caches2.of(above(t, pu, HWLOC_OBJ_L2CACHE, core)->cpuset),
                       .cache3 = caches3.of(above(t, pu, HWLOC_OBJ_L3CACHE, package)->cpuset),
                       .package = packages.of(package->cpuset),
                       .node = nodes.of((memory != nullptr ? memory : root)->cpuset),
                       .speed = speed_of(t, pu),
                       .sibling = 0};
        const bool same = !cpus.empty() && cpus.back().core == c.core;
        const unsigned sibling = same ? cpus.back().sibling + 1 : 0;
        cpus.push_back(c);
        cpus.back().sibling = sibling;
    }
    return cpus.empty() ? std::nullopt : std::optional(std::move(cpus));
}

} // namespace

std::string reader() { return "hwloc " HWLOC_VERSION; }

std::optional<topology> read_machine() {
    // hwloc loads plugins from the folder that HWLOC_PLUGINS_PATH names.
    if (os::has_added_rights()) {
        return {};
    }
    const handle t = make();
    // HWLOC_XMLFILE and its like describe another machine.
    if (t == nullptr || hwloc_topology_load(t.get()) != 0 || hwloc_topology_is_thissystem(t.get()) == 0) {
        return {};
    }
    return walk(t.get());
}

std::optional<topology> read_synthetic(const std::string& description) {
    const handle t = make();
    if (t == nullptr || hwloc_topology_set_synthetic(t.get(), description.c_str()) != 0 ||
        hwloc_topology_load(t.get()) != 0) {
        return {};
    }
    return walk(t.get());
}

std::optional<topology> read_file(const std::string& path) {
    const handle t = make();
    if (t == nullptr || hwloc_topology_set_xml(t.get(), path.c_str()) != 0 ||
        hwloc_topology_load(t.get()) != 0) {
        return {};
    }
    return walk(t.get());
}

#else

std::string reader() { return "without hwloc"; }

std::optional<topology> read_machine() { return {}; }

std::optional<topology> read_synthetic(const std::string&) { return {}; }

std::optional<topology> read_file(const std::string&) { return {}; }

#endif

topology this_machine(std::span<const unsigned> mask) {
    const auto all = read_machine();
    return all ? within(*all, mask) : flat(mask);
}

} // namespace machine
} // namespace v0
} // namespace pilfer
