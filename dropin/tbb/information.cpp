// Versions, the machine, exceptions and assertions. The calls for profilers do nothing, as in oneTBB without
// a profiler.
#include "scheduler.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

extern "C" {
const char* TBB_runtime_version() { return TBB_VERSION_STRING; }
int TBB_runtime_interface_version() { return TBB_INTERFACE_VERSION; }
}

namespace tbb::detail::r1 {

// --- exceptions --------------------------------------------------------------------------------------------

const char* bad_last_alloc::what() const noexcept {
    return "bad allocation in previous or concurrent attempt";
}
const char* user_abort::what() const noexcept { return "User-initiated abort has terminated this operation"; }
const char* missing_wait::what() const noexcept {
    return "wait() was not called on the structured_task_group";
}

void throw_exception(exception_id id) {
    if (terminates_on_exception()) {
        std::terminate();
    }
    switch (id) {
    case exception_id::bad_alloc:
        throw std::bad_alloc();
    case exception_id::bad_last_alloc:
        throw bad_last_alloc();
    case exception_id::user_abort:
        throw user_abort();
    case exception_id::nonpositive_step:
        throw std::invalid_argument("Step must be positive");
    case exception_id::out_of_range:
        throw std::out_of_range("Index out of requested size range");
    case exception_id::reservation_length_error:
        throw std::length_error("Attempt to exceed implementation defined length limits");
    case exception_id::missing_wait:
        throw missing_wait();
    case exception_id::invalid_load_factor:
        throw std::out_of_range("Invalid hash load factor");
    case exception_id::invalid_key:
        throw std::out_of_range("invalid key");
    case exception_id::bad_tagged_msg_cast:
        throw std::runtime_error("Illegal tagged_msg cast");
    case exception_id::unsafe_wait:
        throw unsafe_wait("Unsafe to wait further");
    case exception_id::last_entry:
        break;
    }
    std::fprintf(stderr, "libpilfer-tbb: throw_exception(%d): there is no such exception\n",
                 static_cast<int>(id));
    std::abort();
}

void assertion_failure(const char* location, int line, const char* expression, const char* comment) {
    std::fprintf(stderr, "Assertion %s failed (located in the %s function, line in file: %d)\n", expression,
                 location, line);
    if (comment != nullptr) {
        std::fprintf(stderr, "Detailed description: %s\n", comment);
    }
    std::fflush(stderr);
    std::abort();
}

// --- the machine -------------------------------------------------------------------------------------------
// One node and one kind of core, named as where oneTBB's libtbbbind is not installed: arenas are bound to
// nothing.

unsigned numa_node_count() { return 1; }
void fill_numa_indices(int* indices) { indices[0] = d1::task_arena_base::automatic; }
int numa_default_concurrency(int) { return static_cast<int>(workers::granted()); }
unsigned core_type_count(std::intptr_t) { return 1; }
void fill_core_type_indices(int* indices, std::intptr_t) { indices[0] = d1::task_arena_base::automatic; }
int constraints_default_concurrency(const d1::constraints&, std::intptr_t) {
    return static_cast<int>(workers::granted());
}
int constraints_threads_per_core(const d1::constraints&, std::intptr_t) {
    return d1::task_arena_base::automatic;
}

// --- profilers ---------------------------------------------------------------------------------------------

using extra = unsigned long long;
void call_itt_notify(int, void*) {}
void create_itt_sync(void*, const tchar*, const tchar*) {}
void itt_set_sync_name(void*, const tchar*) {}
void itt_make_task_group(d1::itt_domain_enum, void*, extra, void*, extra, string_resource_index) {}
void itt_task_begin(d1::itt_domain_enum, void*, extra, void*, extra, string_resource_index) {}
void itt_task_end(d1::itt_domain_enum) {}
void itt_metadata_str_add(d1::itt_domain_enum, void*, extra, string_resource_index, const char*) {}
void itt_metadata_ptr_add(d1::itt_domain_enum, void*, extra, string_resource_index, void*) {}
void itt_relation_add(d1::itt_domain_enum, void*, extra, itt_relation, void*, extra) {}
void itt_region_begin(d1::itt_domain_enum, void*, extra, void*, extra, string_resource_index) {}
void itt_region_end(d1::itt_domain_enum, void*, extra) {}

} // namespace tbb::detail::r1
