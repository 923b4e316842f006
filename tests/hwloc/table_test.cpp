// The CPU of each worker, on six machines. Every table here was written by hand.
//
// hybrid.xml has four slow cores, CPUs 0 to 3, which share a cache. Its two fast cores have two CPUs each: 4
// and 5, 6 and 7. uneven.xml has two packages. The first has three cores with two CPUs each: 0 and 5, 1 and
// 6, 2 and 7. The second has two cores: CPUs 3 and 4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <vector>

#include "machine/detect.hpp"
#include "machine/plan.hpp"

namespace {

namespace machine = pilfer::machine;
using pilfer::pinning;
using table = std::vector<unsigned>;      // by worker
using tables = std::map<unsigned, table>; // by number of workers
using range = std::array<unsigned, 2>;    // workers [first, last)

[[nodiscard]] machine::topology synthetic(const std::string& text) {
    const auto all = machine::read_synthetic(text);
    EXPECT_TRUE(all) << text;
    return all.value_or(machine::topology{});
}

[[nodiscard]] machine::topology xml(const std::string& name) {
    const auto all = machine::read_file(PILFER_TEST_MACHINES "/" + name);
    EXPECT_TRUE(all) << name;
    return all.value_or(machine::topology{});
}

// Linux numbers the first CPUs of all cores before their siblings.
const char* const two_sockets = "package:2 l3:1 l2:4 core:1 pu:1";
const char* const siblings = "package:1 l3:1 l2:4 core:1 pu:2(indexes=0,4,1,5,2,6,3,7)";
const char* const two_of_everything =
    "package:2 l3:2 l2:2 core:1 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)";
const char* const clusters = "package:1 l3:1 l2:2 core:2 pu:1";

[[nodiscard]] table cpus_of(const machine::topology& cpus, unsigned workers, pinning how) {
    return machine::seat(workers, workers, how, cpus).cpu;
}

void expect_tables(const machine::topology& cpus, pinning how, const tables& expected) {
    for (const auto& [workers, cpu] : expected) {
        EXPECT_EQ(cpus_of(cpus, workers, how), cpu) << workers << " workers, " << machine::name(how);
    }
}

[[nodiscard]] std::vector<range> near(const machine::seating& s, unsigned worker) {
    std::vector<range> groups;
    for (const auto& g : s.near.of(worker)) {
        groups.push_back({g.first, g.last});
    }
    return groups;
}

TEST(cpu_of_each_worker, two_sockets) {
    expect_tables(synthetic(two_sockets), pinning::compact,
                  {{1, {0}},
                   {2, {0, 1}},
                   {4, {0, 1, 2, 3}},
                   {5, {0, 1, 2, 3, 4}},
                   {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                   {9, {0, 0, 1, 2, 3, 4, 5, 6, 7}},
                   {17, {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7}}});
    expect_tables(synthetic(two_sockets), pinning::spread,
                  {{1, {0}},
                   {2, {0, 4}},
                   {3, {0, 1, 4}},
                   {4, {0, 1, 4, 5}},
                   {5, {0, 1, 2, 4, 5}},
                   {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                   {10, {0, 0, 1, 2, 3, 4, 4, 5, 6, 7}}});
}

TEST(cpu_of_each_worker, siblings_come_last) {
    for (const auto how : {pinning::compact, pinning::spread}) {
        expect_tables(synthetic(siblings), how,
                      {{1, {0}},
                       {2, {0, 1}},
                       {4, {0, 1, 2, 3}},
                       {5, {0, 4, 1, 2, 3}},
                       {6, {0, 4, 1, 5, 2, 3}},
                       {8, {0, 4, 1, 5, 2, 6, 3, 7}},
                       {10, {0, 0, 4, 1, 1, 5, 2, 6, 3, 7}}});
    }
}

TEST(cpu_of_each_worker, two_sockets_with_two_caches_and_siblings) {
    expect_tables(synthetic(two_of_everything), pinning::compact,
                  {{1, {0}},
                   {3, {0, 1, 2}},
                   {4, {0, 1, 2, 3}},
                   {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                   {9, {0, 8, 1, 2, 3, 4, 5, 6, 7}},
                   {16, {0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15}}});
    expect_tables(synthetic(two_of_everything), pinning::spread,
                  {{1, {0}},
                   {2, {0, 4}},
                   {3, {0, 2, 4}},
                   {4, {0, 2, 4, 6}},
                   {5, {0, 1, 2, 4, 6}},
                   {6, {0, 1, 2, 4, 5, 6}},
                   {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                   {9, {0, 8, 1, 2, 3, 4, 5, 6, 7}},
                   {10, {0, 8, 1, 2, 3, 4, 12, 5, 6, 7}}});
}

TEST(cpu_of_each_worker, cores_that_share_a_cache) {
    expect_tables(synthetic(clusters), pinning::compact, {{2, {0, 1}}, {3, {0, 1, 2}}, {4, {0, 1, 2, 3}}});
    expect_tables(synthetic(clusters), pinning::spread, {{2, {0, 2}}, {3, {0, 1, 2}}, {4, {0, 1, 2, 3}}});
}

TEST(cpu_of_each_worker, hybrid) {
    for (const auto how : {pinning::compact, pinning::spread}) {
        expect_tables(xml("hybrid.xml"), how,
                      {{1, {4}},
                       {2, {4, 6}},
                       {3, {0, 4, 6}},
                       {4, {0, 1, 4, 6}},
                       {6, {0, 1, 2, 3, 4, 6}},
                       {7, {0, 1, 2, 3, 4, 5, 6}},
                       {8, {0, 1, 2, 3, 4, 5, 6, 7}},
                       {9, {0, 1, 2, 3, 4, 4, 5, 6, 7}}});
    }
}

TEST(cpu_of_each_worker, uneven) {
    expect_tables(xml("uneven.xml"), pinning::compact,
                  {{3, {0, 1, 2}},
                   {4, {0, 1, 2, 3}},
                   {5, {0, 1, 2, 3, 4}},
                   {6, {0, 5, 1, 2, 3, 4}},
                   {8, {0, 5, 1, 6, 2, 7, 3, 4}},
                   {9, {0, 0, 5, 1, 6, 2, 7, 3, 4}}});
    expect_tables(xml("uneven.xml"), pinning::spread,
                  {{2, {0, 3}},
                   {3, {0, 1, 3}},
                   {4, {0, 1, 3, 4}},
                   {5, {0, 1, 2, 3, 4}},
                   {6, {0, 5, 1, 2, 3, 4}},
                   {10, {0, 0, 5, 1, 6, 2, 7, 3, 3, 4}}});
}

// The mask is obeyed. If some CPUs of a core are left, its first one is used.
TEST(cpu_mask, is_obeyed_on_all_machines) {
    const auto masked = [](const machine::topology& all, const table& mask, unsigned workers, pinning how) {
        return cpus_of(machine::within(all, mask), workers, how);
    };
    for (const auto how : {pinning::compact, pinning::spread}) {
        EXPECT_EQ(masked(synthetic(two_sockets), {0, 2}, 1, how), (table{0}));
        EXPECT_EQ(masked(synthetic(two_sockets), {0, 2}, 2, how), (table{0, 2}));
        EXPECT_EQ(masked(synthetic(two_sockets), {0, 2}, 5, how), (table{0, 0, 0, 2, 2}));
        EXPECT_EQ(masked(synthetic(two_sockets), {7}, 3, how), (table{7, 7, 7}));
        EXPECT_EQ(masked(synthetic(two_of_everything), {0, 2}, 2, how), (table{0, 2}));
        EXPECT_EQ(masked(synthetic(siblings), {0, 2}, 3, how), (table{0, 0, 2}));
        EXPECT_EQ(masked(synthetic(siblings), {1, 4, 5}, 2, how), (table{4, 1}));
        EXPECT_EQ(masked(synthetic(siblings), {1, 4, 5}, 3, how), (table{4, 1, 5}));
        EXPECT_EQ(masked(xml("hybrid.xml"), {0, 2}, 2, how), (table{0, 2}));
        EXPECT_EQ(masked(xml("hybrid.xml"), {0, 5, 7}, 2, how), (table{5, 7}));
        EXPECT_EQ(masked(xml("uneven.xml"), {0, 2}, 2, how), (table{0, 2}));
        EXPECT_EQ(masked(xml("uneven.xml"), {0, 99}, 2, how), (table{0, 99}))
            << "one that hwloc does not know";
    }
    EXPECT_EQ(masked(xml("uneven.xml"), {1, 2, 3, 5}, 2, pinning::compact), (table{5, 1}));
    EXPECT_EQ(masked(xml("uneven.xml"), {1, 2, 3, 5}, 2, pinning::spread), (table{5, 3}));
}

// The groups of the victim rule `nearest`: which workers share a cache, a package or a memory node.
TEST(near_groups, two_sockets_with_two_caches_and_siblings) {
    const auto all = machine::seat(16, 16, pinning::compact, synthetic(two_of_everything));
    EXPECT_EQ(near(all, 0), (std::vector<range>{{0, 2}, {0, 4}, {0, 8}, {0, 16}}));
    EXPECT_EQ(near(all, 3), (std::vector<range>{{2, 4}, {0, 4}, {0, 8}, {0, 16}}));
    EXPECT_EQ(near(all, 13), (std::vector<range>{{12, 14}, {12, 16}, {8, 16}, {0, 16}}));
    const auto cores = machine::seat(8, 8, pinning::compact, synthetic(two_of_everything));
    EXPECT_EQ(near(cores, 5), (std::vector<range>{{4, 6}, {4, 8}, {0, 8}}));
    const auto spread = machine::seat(5, 5, pinning::spread, synthetic(two_of_everything));
    EXPECT_EQ(near(spread, 0), (std::vector<range>{{0, 2}, {0, 3}, {0, 5}}));
    EXPECT_EQ(near(spread, 2), (std::vector<range>{{0, 3}, {0, 5}}));
    EXPECT_EQ(near(spread, 4), (std::vector<range>{{3, 5}, {0, 5}}));
}

TEST(near_groups, hybrid_and_uneven) {
    const auto hybrid = machine::seat(8, 8, pinning::compact, xml("hybrid.xml"));
    EXPECT_EQ(near(hybrid, 1), (std::vector<range>{{0, 4}, {0, 8}}));
    EXPECT_EQ(near(hybrid, 6), (std::vector<range>{{6, 8}, {0, 8}}));
    const auto uneven = machine::seat(9, 9, pinning::compact, xml("uneven.xml"));
    EXPECT_EQ(near(uneven, 0), (std::vector<range>{{0, 3}, {0, 7}, {0, 9}})) << "two on CPU 0, one on 5";
    EXPECT_EQ(near(uneven, 4), (std::vector<range>{{3, 5}, {0, 7}, {0, 9}}));
    EXPECT_EQ(near(uneven, 8), (std::vector<range>{{7, 9}, {0, 9}}));
}

TEST(near_groups, a_memory_node_inside_a_package) {
    const auto all =
        machine::seat(8, 8, pinning::compact, synthetic("package:1 [numa] group:2 [numa] l3:2 core:2 pu:1"));
    EXPECT_EQ(near(all, 0), (std::vector<range>{{0, 2}, {0, 4}, {0, 8}}));
    EXPECT_EQ(near(all, 7), (std::vector<range>{{6, 8}, {4, 8}, {0, 8}}));
}

TEST(hwloc_input, that_is_malformed_gives_nothing) {
    EXPECT_FALSE(machine::read_synthetic("package:"));
    EXPECT_FALSE(machine::read_synthetic("nonsense"));
    EXPECT_FALSE(machine::read_file(PILFER_TEST_MACHINES "/CMakeLists.txt"));
    EXPECT_FALSE(machine::read_file(PILFER_TEST_MACHINES "/missing.xml"));
}

TEST(hwloc_input, source_is_reported) { EXPECT_THAT(machine::reader(), testing::StartsWith("hwloc 2.")); }

} // namespace
