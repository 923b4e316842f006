// Bank accounts: each is an object with a lock, and a transfer takes two of them in one order.
#include <array>
#include <cstdio>
#include <pilfer/pilfer.hpp>
#include <vector>

int main() {
    constexpr unsigned people = 4;
    pilfer::pool pool;
    std::array<pilfer::synchronized<long>, people> accounts;
    for (auto& a : accounts) {
        a.call([](long& money) { money = 1000; });
    }

    // Every account pays every other one, in both directions at once. call_all() takes the locks by their
    // addresses, so no two transfers wait for each other.
    std::vector<pilfer::future<void>> payers;
    for (unsigned from = 0; from < people; ++from) {
        payers.push_back(pool.async([&, from] {
            for (unsigned i = 0; i < 3000; ++i) {
                const unsigned to = (from + 1 + i % (people - 1)) % people;
                pilfer::call_all(
                    [&](long& a, long& b) {
                        const long some = from + 1;
                        if (a >= some) {
                            a -= some;
                            b += some;
                        }
                    },
                    accounts[from], accounts[to]);
            }
        }));
    }
    for (auto& p : payers) {
        p.get();
    }
    const long sum = pilfer::call_all([](auto&... money) { return (money + ...); }, accounts[0], accounts[1],
                                      accounts[2], accounts[3]);
    std::printf("nothing is lost: %ld\n", sum);

    // A spender waits until the account holds enough.
    pilfer::monitor<long> savings(0L);
    auto spender = pool.async([&] {
        savings.call_when([](long money) { return money >= 300; }, [](long& money) { money -= 300; });
    });
    for (int month = 0; month < 4; ++month) {
        savings.call([](long& money) { money += 100; });
    }
    spender.get();
    std::printf("left after spending: %ld\n", savings.read([](long money) { return money; }));
}
