// Loops allocate nothing; scans and copies go on if there is no memory; workers get and give back large
// memory.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <numeric>
#include <random>
#include <vector>

#include <pilfer/sort.hpp>

#include "algorithm/inputs.hpp"
#include "support/allocations.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

/// While this is set, operator new (std::nothrow) gives nothing.
std::atomic<bool> no_memory{false};

/// Of the aligned blocks of 32 MiB and more: how many were freed, and how many of their pages were in memory.
std::atomic<int> large_frees{0};
std::atomic<long> resident_pages{0};

/// Bytes whose pages the library has asked for before their first use.
std::atomic<std::size_t> populated{0};

[[maybe_unused]] void note_free(void* block) {
    const std::size_t bytes = malloc_usable_size(block);
    if (bytes < std::size_t{1} << 25) {
        return;
    }
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const std::size_t inside = page - reinterpret_cast<std::uintptr_t>(block) % page;
    auto* const first = static_cast<unsigned char*>(block) + inside;
    std::vector<unsigned char> resident(bytes / page - 1);
    EXPECT_EQ(mincore(first, resident.size() * page, resident.data()), 0);
    resident_pages += std::accumulate(resident.begin(), resident.end(), 0L);
    ++large_frees;
}

} // namespace

#if !defined(PILFER_SANITIZED) // a sanitizer brings its own
[[gnu::noinline]] void* operator new[](std::size_t n, const std::nothrow_t&) noexcept {
    return no_memory ? nullptr : std::malloc(n);
}
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept {
    note_free(p);
    std::free(p);
}
extern "C" int madvise(void* at, std::size_t bytes, int advice) noexcept {
    constexpr int populate_write = 23; // MADV_POPULATE_WRITE, which older headers lack
    populated += advice == populate_write ? bytes : 0;
    return static_cast<int>(syscall(SYS_madvise, at, bytes, advice));
}
#endif

namespace {

class algorithm_memory : public guarded {};

TEST_F(algorithm_memory, loops_reductions_and_searches_allocate_nothing) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer allocates for itself";
    }
    pilfer::pool pool(workers(1));
    std::vector<int> v(100'000);
    std::vector<int> out(v.size());
    pool.run([&] {
        std::iota(v.begin(), v.end(), 0);
        const auto all = [&] {
            pilfer::transform(v, out.begin(), [](int x) { return x + 1; });
            pilfer::copy(v, out.begin());
            pilfer::reverse(out);
            EXPECT_EQ(pilfer::count_if(v, [](int x) { return x < 10; }), 10);
            EXPECT_TRUE(pilfer::find(v, 50'000) == v.begin() + 50'000);
            EXPECT_EQ(pilfer::reduce(v, 0L), 4'999'950'000);
            EXPECT_TRUE(pilfer::max_element(v) == v.end() - 1);
            (void)pilfer::partition(out, [](int x) { return x % 2 == 0; });
            (void)pilfer::remove_if(out, [](int x) { return x % 4 == 0; });
        };
        all(); // stacks and deques are there now
        const auto before = allocations();
        all();
        EXPECT_EQ(allocations() - before, 0U);
    });
}

TEST_F(algorithm_memory, without_memory_a_scan_and_a_copy_go_on_in_order) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has an operator new of its own";
    }
    for (const unsigned n : {1U, 2U, 3U, 8U}) {
        pilfer::pool pool(workers(n));
        std::vector<int> v(10'000);
        std::iota(v.begin(), v.end(), 0);
        std::vector<int> out(v.size());
        pool.run([&] {
            no_memory = true;
            pilfer::inclusive_scan(v, out.begin());
            EXPECT_EQ(out.back(), 49'995'000);
            const auto r = pilfer::copy_if(v, out.begin(), [](int x) { return x % 2 == 0; });
            EXPECT_EQ(r.out - out.begin(), 5000);
            EXPECT_EQ(out[4999], 9998);
            EXPECT_THROW((void)pilfer::filter(v, [](int x) { return x > 0; }), std::bad_alloc);
            no_memory = false;
            EXPECT_EQ(pilfer::filter(v, [](int x) { return x > 0; }).size(), 9999U);
        });
    }
}

TEST_F(algorithm_memory, without_memory_a_sort_by_digits_goes_on) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has an operator new of its own";
    }
    for (const unsigned n : {1U, 3U}) {
        pilfer::pool pool(workers(n));
        std::vector<unsigned> v(300'000);
        for (unsigned i = 0; i < v.size(); ++i) {
            v[i] = i * 2'654'435'761U;
        }
        auto expected = v;
        std::ranges::sort(expected);
        pool.run([&] {
            no_memory = true;
            pilfer::sort(v);
            no_memory = false;
        });
        EXPECT_EQ(v, expected);
    }
}

// resize() would get the pages on one thread.
TEST_F(algorithm_memory, workers_get_the_pages_of_a_large_result_before_resize_uses_them) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer has a madvise of its own";
    }
    pilfer::pool pool(workers(2));
    std::vector<std::uint64_t> v(9 << 19);
    std::iota(v.begin(), v.end(), std::uint64_t{0});
    const auto populated_for = [&](std::uint64_t one_of) {
        populated = 0;
        const auto kept =
            pool.run([&] { return pilfer::filter(v, [=](auto i) { return i % one_of == 0; }); });
        EXPECT_EQ(kept.size(), (v.size() + one_of - 1) / one_of);
        return populated.load();
    };
    EXPECT_GT(populated_for(1), v.size() * sizeof(v[0]) / 100 * 99); // less the pages where two parts meet
    EXPECT_EQ(populated_for(2), 0U);
}

// A large block that is freed goes back to the system page by page, on one thread.
TEST_F(algorithm_memory, workers_give_the_pages_of_a_large_sort_back_before_it_is_freed) {
    if (!counts_allocations) {
        GTEST_SKIP() << "a sanitizer frees by itself";
    }
    struct record {
        std::uint64_t key;
        std::uint64_t other;
    };
    pilfer::pool pool(workers(2));
    std::mt19937 random(1);
    const auto given_back = [&](auto& input, auto less) {
        large_frees = 0;
        resident_pages = 0;
        pool.run([&] { pilfer::sort(input, less); });
        EXPECT_TRUE(std::ranges::is_sorted(input, less));
        EXPECT_EQ(large_frees, 1);
        EXPECT_LT(resident_pages, 100) << "of 8,600 or more";
    };
    std::vector<std::uint32_t> numbers(9'000'000);
    std::ranges::generate(numbers, random);
    given_back(numbers, std::ranges::less{});
    std::vector<record> records(2'200'000);
    std::ranges::generate(records, [&] { return record{random(), 0}; });
    given_back(records, [](const record& a, const record& b) { return a.key < b.key; });
}

} // namespace
