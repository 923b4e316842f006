// Descriptions and results of another rank that no rank sends: errors, and no harm.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <pilfer/cluster.hpp>
#include <pilfer/pilfer_cluster.h>

#include "capi_cluster/jobs.hpp"
#include "cluster/journal_file.hpp"
#include "cluster/rank_work.hpp"

namespace {

using pilfer::cluster::archive;
using pilfer::cluster::archive_error;
using pilfer::detail::set_while;

struct leaf {
    int value = 0;
    int operator()() const { return value; }
};
PILFER_CLUSTER_TASK(leaf);

const auto one = [](std::uint64_t) { return 1L; };
const auto plus = [](long a, long b) { return a + b; };
using map_piece = pilfer::detail::map_piece<decltype(one), decltype(plus), long>;
using journaled_piece = pilfer::detail::journaled_piece<decltype(one), decltype(plus), long>;
constexpr std::uint64_t far = std::uint64_t{1} << 40;

TEST(hostile, sum_without_a_child) {
    pilfer::pool pool({.workers = 1});
    EXPECT_THROW((void)pool.run(pilfer::detail::sum_piece<leaf>{{}}), archive_error);
    EXPECT_EQ(pool.run(pilfer::detail::sum_piece<leaf>{{{1}, {2}}}), 3);
}

TEST(hostile, part_that_its_range_does_not_have) {
    const map_piece::functions functions{one, plus, 10};
    const set_while<const map_piece::functions> here(map_piece::current, &functions);
    pilfer::pool pool({.workers = 1});
    for (const map_piece p :
         {map_piece{0, 10, 0}, map_piece{0, 0, 4}, map_piece{0, 11, 4}, map_piece{8, 3, 4},
          map_piece{1, 4, 4}, map_piece{far, 4, 4}, map_piece{4, UINT64_MAX - 1, 4}}) {
        EXPECT_THROW((void)pool.run(p), archive_error) << p.first << ' ' << p.count << ' ' << p.most;
    }
    EXPECT_EQ(pool.run(map_piece{8, 2, 4}), 2);
}

TEST(hostile, part_that_its_journal_does_not_have) {
    const journal_files::temporary_file file;
    pilfer::detail::journal journal(true, 4);
    (void)journal.open(file.path, {"t", 0, 4, 1}, [](archive& in) { (void)in.take<long>(); });
    const set_while<pilfer::detail::journal> kept(pilfer::detail::journal::current, &journal);
    const journaled_piece::functions functions{one, plus, 2 * far};
    const set_while<const journaled_piece::functions> here(journaled_piece::current, &functions);
    pilfer::pool pool({.workers = 1});
    for (const std::uint64_t first : {std::uint64_t{4}, far}) {
        EXPECT_THROW((void)pool.run(journaled_piece{first, 1, 1, {}}), archive_error) << first;
    }
    EXPECT_THROW((void)pool.run(journaled_piece{0, 4, 0, {}}), archive_error);
    EXPECT_THROW(journal.keep({4, {}}), archive_error);
    EXPECT_EQ(pool.run(journaled_piece{0, 4, 1, {}}), 4);
}

std::atomic<bool> is_taken{false};
extern "C" int waits_for_the_thief(pilfer_cluster_job* /*job*/, const void* /*input*/, size_t /*bytes*/) {
    while (!is_taken) {
        std::this_thread::yield();
    }
    return 0;
}

TEST(hostile, results_of_another_number) {
    ASSERT_EQ(pilfer_cluster_register("waits", waits_for_the_thief), 0);
    (void)pilfer::detail::cluster_tasks();
    for (const std::size_t n : {std::size_t{0}, std::size_t{200'000}}) { // 1 is right
        is_taken = false;
        pilfer::detail::branch_bag bag(1);
        const set_while<pilfer::detail::branch_bag> here(pilfer::detail::cluster_bag, &bag);
        std::thread thief([&] {
            std::vector<pilfer::detail::shared_branch*> got;
            while (got.empty()) {
                got = bag.take_half(1);
            }
            is_taken = true;
            archive out;
            out.put(std::vector<std::vector<std::byte>>(n, std::vector<std::byte>(8)));
            got[0]->ends({.bytes = std::move(out.bytes())});
        });
        pilfer_cluster_branch both[2]{};
        both[0].name = both[1].name = "waits";
        int code = 0;
        pilfer::pool pool({.workers = 1});
        pool.run([&] {
            pilfer_cluster_job job;
            code = pilfer_cluster_join(&job, both, 2);
        });
        thief.join();
        EXPECT_LT(code, 0) << n;
    }
}

} // namespace
