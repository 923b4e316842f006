// Leases of instances through <pilfer/pilfer.h>.
#include <pilfer/pilfer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capi/support.hpp"

namespace {

using namespace capi_tests;

class c_worker_local_over_workers : public over_workers {};
PILFER_OVER_WORKERS(c_worker_local_over_workers);
class c_worker_local : public guarded {};

std::atomic<int> alive{0};

void* make(void* arg) {
    ++alive;
    return new long(*static_cast<long*>(arg));
}
void end(void* instance, void*) {
    --alive;
    delete static_cast<long*>(instance);
}
void add(void* instance, void* arg) { *static_cast<long*>(arg) += *static_cast<long*>(instance); }
void no_look(void*, void*) {}

TEST_P(c_worker_local_over_workers, sums) {
    const c_pool pool(GetParam());
    long nothing = 0;
    pilfer_worker_local* all = nullptr;
    ASSERT_EQ(pilfer_worker_local_new(&all, make, end, &nothing), 0);
    const auto n = static_cast<long>(hundredth_of(20'000));
    tasks(pool, 8, [&](unsigned) {
        for (long i = 0; i < n; ++i) {
            pilfer_lease* mine = nullptr;
            EXPECT_EQ(pilfer_worker_local_lease(all, &mine), 0);
            ++*static_cast<long*>(pilfer_lease_instance(mine));
            pilfer_lease_end(mine);
        }
    });
    long sum = 0;
    EXPECT_EQ(pilfer_worker_local_for_each(all, add, &sum), 0);
    EXPECT_EQ(sum, 8 * n);
    EXPECT_LE(pilfer_worker_local_size(all), GetParam());
    EXPECT_EQ(static_cast<std::size_t>(alive), pilfer_worker_local_size(all));
    pilfer_worker_local_free(all);
    EXPECT_EQ(alive, 0);
}

TEST_F(c_worker_local, nested_and_in_order) {
    long next = 1;
    const auto counting = [](void* arg) -> void* { return new long((*static_cast<long*>(arg))++); };
    pilfer_worker_local* all = nullptr;
    ASSERT_EQ(pilfer_worker_local_new(&all, counting, nullptr, &next), 0);
    pilfer_lease* a = nullptr;
    pilfer_lease* b = nullptr;
    ASSERT_EQ(pilfer_worker_local_lease(all, &a), 0);
    ASSERT_EQ(pilfer_worker_local_lease(all, &b), 0);
    EXPECT_NE(pilfer_lease_instance(a), pilfer_lease_instance(b));
    EXPECT_EQ(pilfer_worker_local_for_each(all, no_look, nullptr), PILFER_EUSAGE);
    pilfer_lease_end(b);
    EXPECT_EQ(pilfer_worker_local_for_each(all, no_look, nullptr), PILFER_EUSAGE);
    pilfer_lease_end(a);
    pilfer_lease_end(nullptr);
    const auto digits = [](void* instance, void* arg) {
        *static_cast<long*>(arg) = 10 * *static_cast<long*>(arg) + *static_cast<long*>(instance);
    };
    long in_order = 0;
    EXPECT_EQ(pilfer_worker_local_for_each(all, digits, &in_order), 0);
    EXPECT_EQ(in_order, 12);
    const auto release = [](void* instance, void*) { delete static_cast<long*>(instance); };
    EXPECT_EQ(pilfer_worker_local_for_each(all, release, nullptr), 0);
    pilfer_worker_local_free(all); // `end` is null: they are the caller's
}

TEST_F(c_worker_local, wrong_calls) {
    long start = 0;
    pilfer_worker_local* all = nullptr;
    auto* lease = reinterpret_cast<pilfer_lease*>(&start);
    EXPECT_EQ(pilfer_worker_local_new(nullptr, make, end, &start), PILFER_EINVAL);
    EXPECT_EQ(pilfer_worker_local_new(&all, nullptr, end, &start), PILFER_EINVAL);
    EXPECT_EQ(all, nullptr);
    EXPECT_EQ(pilfer_worker_local_lease(nullptr, &lease), PILFER_EINVAL);
    EXPECT_EQ(lease, nullptr);
    EXPECT_EQ(pilfer_worker_local_for_each(nullptr, no_look, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_worker_local_size(nullptr), 0U);
    pilfer_worker_local_free(nullptr);
    ASSERT_EQ(pilfer_worker_local_new(
                  &all, [](void*) -> void* { return nullptr; }, end, &start),
              0);
    EXPECT_EQ(pilfer_worker_local_lease(all, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_worker_local_lease(all, &lease), PILFER_ENOMEM) << "nothing was made";
    EXPECT_EQ(lease, nullptr);
    EXPECT_EQ(pilfer_worker_local_for_each(all, nullptr, nullptr), PILFER_EINVAL);
    EXPECT_EQ(pilfer_worker_local_size(all), 0U);
    pilfer_worker_local_free(all);
}

TEST(c_worker_local_process, freed_while_a_lease_exists) {
    const auto r = in_child([] {
        long start = 0;
        pilfer_worker_local* all = nullptr;
        pilfer_lease* lease = nullptr;
        if (pilfer_worker_local_new(&all, make, end, &start) == 0 &&
            pilfer_worker_local_lease(all, &lease) == 0) {
            pilfer_worker_local_free(all);
        }
        return 0;
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
    EXPECT_TRUE(r.said("while an instance of it was leased")) << r;
}

TEST(c_worker_local_process, make_throws) {
    const auto r = in_child([] {
        pilfer_worker_local* all = nullptr;
        pilfer_lease* lease = nullptr;
        (void)pilfer_worker_local_new(
            &all, [](void*) -> void* { throw 1; }, nullptr, nullptr);
        return pilfer_worker_local_lease(all, &lease);
    });
    EXPECT_TRUE(r.killed_by(SIGABRT)) << r;
    EXPECT_TRUE(r.said("left a function that was given to the C interface")) << r;
}

} // namespace
