#include "base/forks.hpp"

#include <atomic>
#include <cstdlib>

#include <pilfer/detail/base/atom.hpp>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace forks {
namespace {

constinit std::atomic<std::uint64_t> process{1};

} // namespace

std::uint64_t this_process() noexcept { return process.load(rlx); }

void count() noexcept {
    process.fetch_add(1, rlx); // this is the only thread: threads that it starts later see the new value
}

void no_way_back() noexcept {
    os::write_error("pilfer: in a child of fork() by a task, that task has ended or has to wait; its pool's "
                    "threads are in the parent process, and all that it may do here is to exec or to exit\n");
    std::abort();
}

} // namespace forks
} // namespace detail
} // namespace v0
} // namespace pilfer
