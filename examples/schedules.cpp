// A test that runs under many schedules: it finds an error that a usual run hardly ever shows, and the
// schedule of the failure repeats it. This example is linked with the target pilfer::test.
#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

#include <cstdio>
#include <mutex>

namespace {

/// A bank account with an error: between the look and the withdrawal the money may be gone.
class account {
public:
    explicit account(int balance) : m_balance(balance) {}

    bool withdraw(int amount) {
        if (balance() < amount) {
            return false;
        }
        const std::lock_guard lock(m_mutex);
        m_balance -= amount;
        return true;
    }
    bool withdraw_rightly(int amount) {
        const std::lock_guard lock(m_mutex);
        if (m_balance < amount) {
            return false;
        }
        m_balance -= amount;
        return true;
    }
    int balance() {
        const std::lock_guard lock(m_mutex);
        return m_balance;
    }

private:
    pilfer::mutex m_mutex;
    int m_balance;
};

void withdraw_twice(bool (account::*withdraw)(int)) {
    account a(100);
    (void)pilfer::join([&] { return (a.*withdraw)(80); }, [&] { return (a.*withdraw)(80); });
    pilfer::test::require(a.balance() >= 0, "an account is never overdrawn");
}

/// Writes a transfer down, which may fail.
bool note(int& written, int amount) {
    if (pilfer::test::fault("the disk is full")) {
        return false;
    }
    written += amount;
    return true;
}

/// With an error: if the second note fails, the first one stays.
void transfer(int amount) {
    int taken = 0;
    int given = 0;
    if (note(taken, amount)) {
        (void)note(given, amount);
    }
    pilfer::test::require(taken == given, "what is taken is given");
}

} // namespace

int main() {
    const auto wrong = [] { withdraw_twice(&account::withdraw); };
    // Without the lines of this file, which would differ from build to build.
    const pilfer::test::result found = pilfer::test::schedules(1'000, {.lines = false}, wrong);
    std::printf("the error is found: %s\n", found ? "no" : "yes");
    std::printf("its steps:\n%s", found.trace.c_str());

    int again = 0;
    for (int i = 0; i < 100; ++i) {
        again += pilfer::test::schedules(1, {.replay = found.schedule}, wrong) ? 0 : 1;
    }
    std::printf("its schedule fails again: %d of 100\n", again);

    const auto disk = [] { transfer(5); };
    const pilfer::test::result full = pilfer::test::schedules(1'000, {.faults = 1, .lines = false}, disk);
    std::printf("a fault shows another error: %s\n%s", full ? "no" : "yes", full.trace.c_str());

    using pilfer::test::strategy;
    const auto right = [] { withdraw_twice(&account::withdraw_rightly); };
    const pilfer::test::result all =
        pilfer::test::schedules(100'000, {.strategy = strategy::exhaustive}, right);
    std::printf("the corrected one passes: %s, all schedules ran: %s\n", all ? "yes" : "no",
                all.complete ? "yes" : "no");
}
