// Exceptions at every call and cancellations at any time: nothing is lost, and the pool goes on.
// Optimised lightly: without inlining its many runs take ten times as long by g++.
#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "algorithm/inputs.hpp"
#include "support/harness.hpp"

namespace {

using namespace support;
using namespace algorithm_tests;

class algorithm_failures : public over_workers {};

/// Throws at the k-th call, on whatever worker. Lingers at every 16th, so that loops are split.
class fuse {
public:
    explicit fuse(int k) : m_left(k) {}
    void burn() {
        const int left = m_left.fetch_sub(1);
        if (left == 0) {
            throw std::runtime_error("fuse");
        }
        if (left % 16 == 0) {
            linger();
        }
    }

private:
    std::atomic<int> m_left;
};

/// A number on the heap: losing or destroying one twice is an error under AddressSanitizer.
using owned = std::unique_ptr<int>;

std::vector<owned> owned_values(int n) {
    std::vector<owned> all;
    for (int i = 0; i < n; ++i) {
        all.push_back(std::make_unique<int>(i));
    }
    return all;
}
/// How often each number is there; null pointers are moved-from elements.
std::vector<int> occurrences(const std::vector<owned>& all) {
    std::vector<int> seen(all.size());
    for (const auto& p : all) {
        if (p != nullptr) {
            ++seen[static_cast<std::size_t>(*p)];
        }
    }
    return seen;
}

/// Every algorithm that calls something of the user, with a fuse in it.
using algorithm_call = std::function<void(std::vector<int>&, fuse&)>;
const std::vector<algorithm_call>& reading_calls() {
    static const std::vector<algorithm_call> all = {
        [](auto& v, fuse& f) { pilfer::for_each(v, [&](int&) { f.burn(); }); },
        [](auto& v, fuse& f) {
            pilfer::for_each_chunk(v.begin(), v.end(), [&](auto b, auto e) {
                for (; b != e; ++b) {
                    f.burn();
                }
            });
        },
        [](auto& v, fuse& f) {
            std::vector<std::string> out(v.size());
            pilfer::transform(v, out.begin(), [&](int x) {
                f.burn();
                return std::string(40, static_cast<char>('a' + x % 20));
            });
        },
        [](auto& v, fuse& f) {
            (void)pilfer::find_if(v, [&](int) {
                f.burn();
                return false;
            });
        },
        [](auto& v, fuse& f) {
            (void)pilfer::minmax_element(v, [&](int a, int b) {
                f.burn();
                return a < b;
            });
        },
        [](auto& v, fuse& f) {
            const auto text = [&](int x) {
                f.burn();
                return std::string(40, static_cast<char>('a' + x % 20));
            };
            (void)pilfer::reduce(v, std::string(), text, std::plus<>{});
        },
        [](auto& v, fuse& f) {
            std::vector<std::string> out(v.size());
            const auto last = [&](const std::string& a, const std::string& b) {
                f.burn();
                return b.empty() ? a : b;
            };
            const auto text = [](int x) { return std::string(40, static_cast<char>('a' + x % 20)); };
            pilfer::transform_inclusive_scan(v, out.begin(), last, text, std::string(), pilfer::grain{3});
        },
        [](auto& v, fuse& f) {
            (void)pilfer::filter(v, [&](int x) {
                f.burn();
                return x % 2 == 0;
            });
        },
        [](auto& v, fuse& f) {
            std::vector<int> out(v.size());
            pilfer::copy_if(v, out.begin(), [&](int x) {
                f.burn();
                return x % 2 == 0;
            });
        },
        [](auto& v, fuse& f) {
            (void)pilfer::histogram(v, 10, [&](int x) {
                f.burn();
                return x % 10;
            });
        },
        [](auto& v, fuse& f) {
            (void)pilfer::group_by_key(v, [&](int x) {
                f.burn();
                return std::to_string(x % 30);
            });
        },
    };
    return all;
}

TEST_P(algorithm_failures, throwing_at_every_kth_call) {
    pilfer::pool pool(with_workers());
    std::vector<int> v(200);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = static_cast<int>(i);
    }
    const int step = sanitized ? 23 : 7;
    for (std::size_t number = 0; number < reading_calls().size(); ++number) {
        for (int k = 0; k < 150; k += step) {
            fuse f(k);
            EXPECT_THROW(pool.run([&] { reading_calls()[number](v, f); }), std::runtime_error)
                << "algorithm " << number << ", call " << k;
        }
        fuse none(1'000'000);
        EXPECT_NO_THROW(pool.run([&] { reading_calls()[number](v, none); })) << "algorithm " << number;
    }
}

TEST_P(algorithm_failures, an_exception_loses_no_element_in_place) {
    pilfer::pool pool(with_workers());
    constexpr int n = 200;
    const int step = sanitized ? 23 : 3;
    for (int k = 0; k < n - 10; k += step) {
        auto v = owned_values(n);
        fuse f(k);
        const auto third = [&](const owned& p) {
            f.burn();
            return *p % 3 == 0;
        };
        EXPECT_THROW(pool.run([&] { (void)pilfer::partition(v, third); }), std::runtime_error);
        EXPECT_EQ(occurrences(v), std::vector<int>(n, 1));

        v = owned_values(n);
        fuse g(k);
        const auto third_again = [&](const owned& p) {
            g.burn();
            return *p % 3 == 0;
        };
        EXPECT_THROW(pool.run([&] { (void)pilfer::remove_if(v, third_again); }), std::runtime_error);
        const auto seen = occurrences(v);
        for (int i = 0; i < n; ++i) {
            if (i % 3 != 0) {
                ASSERT_EQ(seen[static_cast<std::size_t>(i)], 1) << i << ", call " << k;
            }
        }
    }
}

TEST_P(algorithm_failures, cancelled_at_random) {
    pilfer::pool pool(with_workers());
    std::mt19937 random(41);
    std::vector<int> v(2000);
    for (std::uint64_t round = 0; round < hundredth_of(10'000, 20); ++round) {
        const auto& call = reading_calls()[random() % reading_calls().size()];
        const auto after = std::chrono::microseconds(random() % 300);
        pool.run([&] {
            pilfer::scope s;
            s.fork([&] {
                fuse never(1'000'000);
                call(v, never);
            });
            s.fork([&] {
                const auto end = std::chrono::steady_clock::now() + after;
                while (std::chrono::steady_clock::now() < end) {
                }
                s.cancel();
            });
            s.sync();
        });
    }
    EXPECT_EQ(pool.run([&] { return pilfer::count(v, 0); }), 2000);
}

TEST_P(algorithm_failures, a_cancelled_loop_ends_early) {
    pilfer::pool pool(with_workers());
    std::vector<int> v(100'000);
    std::atomic<int> calls{0};
    pool.run([&] {
        pilfer::scope s;
        s.fork([&] {
            (void)pilfer::count_if(v, [&](int) {
                if (calls.fetch_add(1) == 10) {
                    s.cancel();
                }
                linger();
                return true;
            });
            ADD_FAILURE() << "the loop went on after its scope was cancelled";
        });
        s.sync();
    });
    EXPECT_LT(calls, 50'000);
}

PILFER_OVER_WORKERS(algorithm_failures);

} // namespace
