// A program with an error that a usual run hardly ever shows. It knows nothing of schedules. The target
// pilfer::test is linked instead of pilfer::pilfer (docs/guides/testing.md).
//
//   example_check                  ends with 0
//   pilfer check example_check     names a deadlock, and the schedule that repeats it
#include <pilfer/pilfer.hpp>

#include <cstdio>
#include <mutex>

namespace {

struct account {
    pilfer::mutex guard;
    int balance = 100;
};

/// Two transfers in opposite directions lock the two accounts in opposite orders.
void transfer(account& from, account& to, int amount) {
    const std::lock_guard first(from.guard);
    const std::lock_guard second(to.guard);
    from.balance -= amount;
    to.balance += amount;
}

} // namespace

int main() {
    pilfer::pool pool({.workers = 1}); // on one worker both transfers run one after the other
    account mine;
    account yours;
    pool.run([&] { pilfer::join([&] { transfer(mine, yours, 30); }, [&] { transfer(yours, mine, 20); }); });
    std::printf("%d and %d\n", mine.balance, yours.balance);
    return mine.balance + yours.balance == 200 ? 0 : 1;
}
