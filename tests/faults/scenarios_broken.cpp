// Wrong on purpose: the driver must see each of these.
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include "faults/watched.hpp"

namespace faults {
namespace {

void leak() {
    void* volatile kept = ::operator new(16); // volatile: or the compiler leaves the allocation out
    (void)kept;
}
void thread() {
    const harness_code harness;
    std::thread([] {
        for (;;) {
            nap();
        }
    }).detach();
}
void descriptor() {
    if (dup(0) < 0) {
        throw std::bad_alloc();
    }
}
void result() { expect_equal(1, 2, "a result"); }
void exception() { throw std::runtime_error("that nobody documents"); }
void crash() { std::abort(); }
void hang() {
    for (;;) {
        nap();
    }
}
void bad_alloc() { throw std::bad_alloc(); } // though nothing failed

constexpr scenario list[] = {
    {"breaks_leak", leak},     {"breaks_thread", thread},       {"breaks_descriptor", descriptor},
    {"breaks_result", result}, {"breaks_exception", exception}, {"breaks_crash", crash},
    {"breaks_hang", hang},     {"breaks_bad_alloc", bad_alloc},
};

} // namespace

std::span<const scenario> broken_scenarios() { return list; }

} // namespace faults
