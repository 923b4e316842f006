// A pool that cannot be made throws and leaves nothing.
#include <sys/resource.h>

#include <cstdlib>
#include <new>

#include <pilfer/detail/base/platform.hpp>

#include "support/child.hpp"
#include "support/harness.hpp"
#include "support/process.hpp"

namespace {

// Number of calls of operator new on this thread that may still succeed; negative: all.
constinit thread_local long calls_left = -1;

[[nodiscard, maybe_unused]] bool refused() noexcept { return calls_left >= 0 && calls_left-- == 0; }

} // namespace

// clang's runtime of ThreadSanitizer defines these itself, and not weakly.
#if defined(PILFER_TSAN)
constexpr bool can_refuse = false;
#else
constexpr bool can_refuse = true;
[[gnu::noinline]] void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
    return refused() ? nullptr : std::malloc(n != 0 ? n : 1);
}
[[gnu::noinline]] void* operator new(std::size_t n) {
    if (void* p = operator new(n, std::nothrow)) {
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t n, std::align_val_t align) {
    const auto a = static_cast<std::size_t>(align);
    if (void* p = refused() ? nullptr : std::aligned_alloc(a, (n + a - 1) / a * a)) {
        return p;
    }
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, const std::nothrow_t&) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
#endif

namespace {

using namespace support;

class bad_input_memory : public guarded {};

TEST_F(bad_input_memory, every_allocation_of_the_constructor_may_fail) {
    if (!can_refuse) {
        GTEST_SKIP() << "a sanitizer has the allocator";
    }
    const auto before = thread_count();
    int failures = 0;
    for (long successes = 0; successes < 1000; ++successes) {
        calls_left = successes;
        try {
            pilfer::pool pool(workers(3));
            calls_left = -1;
            EXPECT_EQ(pool.run([] { return fib_join(8); }), fib(8));
            break;
        } catch (const std::bad_alloc&) {
            calls_left = -1;
            ++failures;
            // A leaked thread would run on memory that is gone.
            ASSERT_EQ(thread_count(), before) << "after " << successes << " allocations";
        }
    }
    // At least the core, three workers with a ring each, seats, map and sleepers.
    EXPECT_GE(failures, 10);
    EXPECT_LT(failures, 1000);
    EXPECT_TRUE(threads_become(before));
}

TEST_F(bad_input_memory, no_room_for_a_single_stack) {
    if (sanitized || emulated) {
        GTEST_SKIP() << "the limit is not the program's alone";
    }
    const auto result = in_child([] {
        constexpr rlim_t limit = rlim_t{900} << 20;
        const rlimit r{limit, limit};
        if (setrlimit(RLIMIT_AS, &r) != 0) {
            return 1;
        }
        pilfer::options o = workers(2);
        o.stack_size = std::size_t{1} << 30;
        try {
            pilfer::pool pool(o);
            pool.run([] {}); // has nowhere to run
            return 2;
        } catch (const std::bad_alloc&) {
        }
        if (thread_count() != 1) {
            return 3;
        }
        o.stack_size = 256 * 1024;
        pilfer::pool pool(o);
        return pool.run([] { return 40; });
    });
    EXPECT_TRUE(result.exited_with(40)) << result;
}

} // namespace
