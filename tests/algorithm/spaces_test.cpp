// Tiles cover a space once; strided ranges visit every step-th position.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <numeric>
#include <stdexcept>
#include <vector>

#include <pilfer/algorithm.hpp>

#include "support/harness.hpp"

namespace {

using namespace support;

class algorithm_spaces : public over_workers {};

TEST_P(algorithm_spaces, tiles_of_two_dimensions_cover_every_pair_once) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::array<int, 2> sizes : {std::array{1, 1}, {5, 7}, {64, 64}, {33, 100}, {1, 1000}}) {
            for (const std::array<int, 2> tile :
                 {std::array{1, 1}, {3, 2}, {16, 32}, {1000, 1000}, {0, -4}}) {
                std::vector<int> visits(static_cast<std::size_t>(sizes[0] * sizes[1]));
                pilfer::for_each_tile(sizes, tile, [&](auto begin, auto end) {
                    EXPECT_LT(begin[0], end[0]);
                    EXPECT_LT(begin[1], end[1]);
                    EXPECT_LE(end[0] - begin[0], std::max(tile[0], 1));
                    EXPECT_LE(end[1] - begin[1], std::max(tile[1], 1));
                    for (int i = begin[0]; i != end[0]; ++i) {
                        for (int j = begin[1]; j != end[1]; ++j) {
                            ++visits[static_cast<std::size_t>(i * sizes[1] + j)];
                        }
                    }
                });
                EXPECT_TRUE(std::ranges::all_of(visits, [](int v) { return v == 1; }));
            }
        }
    });
}

TEST_P(algorithm_spaces, tiles_of_one_three_and_four_dimensions) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        std::atomic<std::uint64_t> sum{0};
        pilfer::for_each_tile(std::array{100U}, std::array{7U}, [&](auto begin, auto end) {
            for (auto i = begin[0]; i != end[0]; ++i) {
                sum += i;
            }
        });
        EXPECT_EQ(sum, 4950U);
        std::vector<char> visits(7 * 9 * 11);
        pilfer::for_each_tile(
            std::array<std::size_t, 3>{7, 9, 11}, std::array<std::size_t, 3>{2, 4, 8},
            [&](auto begin, auto end) {
                for (auto i = begin[0]; i != end[0]; ++i) {
                    for (auto j = begin[1]; j != end[1]; ++j) {
                        for (auto k = begin[2]; k != end[2]; ++k) {
                            ++visits[(i * 9 + j) * 11 + k];
                        }
                    }
                }
            },
            pilfer::grain{2});
        EXPECT_TRUE(std::ranges::all_of(visits, [](char v) { return v == 1; }));
        std::atomic<int> tiles{0};
        pilfer::for_each_tile(std::array{4, 4, 4, 4}, std::array{2, 2, 2, 2}, [&](auto, auto) { ++tiles; });
        EXPECT_EQ(tiles, 16);
    });
}

TEST_P(algorithm_spaces, an_empty_space_has_no_tiles) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        const auto never = [](auto, auto) { ADD_FAILURE(); };
        pilfer::for_each_tile(std::array{0, 5}, std::array{2, 2}, never);
        pilfer::for_each_tile(std::array{5, -1}, std::array{2, 2}, never);
    });
}

TEST_P(algorithm_spaces, an_exception_and_a_cancellation_leave_a_loop_over_tiles) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (int k = 0; k < 100; k += 9) {
            const auto at_k = [k](const std::array<int, 2>& begin) { return begin[0] * 10 + begin[1] == k; };
            const auto throws = [&](auto begin, auto) {
                if (at_k(begin)) {
                    throw std::runtime_error("k");
                }
            };
            EXPECT_THROW(pilfer::for_each_tile(std::array{10, 10}, std::array{1, 1}, throws),
                         std::runtime_error);
            pilfer::scope s;
            bool ended = false;
            s.fork([&] {
                pilfer::for_each_tile(std::array{10, 10}, std::array{1, 1}, [&](auto begin, auto) {
                    if (at_k(begin)) {
                        s.cancel();
                    }
                });
                pilfer::for_each_tile(std::array{10, 10}, std::array{1, 1}, [](auto, auto) {});
                ended = true;
            });
            s.sync();
            EXPECT_FALSE(ended);
        }
    });
}

TEST_P(algorithm_spaces, steps_over_integers) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const int last : {-3, 0, 1, 2, 3, 10, 100, 1000, 20'000}) {
            for (const int step : {1, 2, 3, 7, 1000, 1'000'000}) {
                std::vector<int> visits(static_cast<std::size_t>(std::max(last, 0)) + 1);
                pilfer::for_each(pilfer::strided(0, last, step),
                                 [&](int i) { ++visits[static_cast<std::size_t>(i)]; });
                long sum = 0;
                for (int i = 0; i < last; i += step) {
                    EXPECT_EQ(visits[static_cast<std::size_t>(i)]--, 1) << i;
                    sum += i;
                }
                EXPECT_TRUE(std::ranges::all_of(visits, [](int v) { return v == 0; }));
                EXPECT_EQ(pilfer::reduce(pilfer::strided(0, last, step), 0L), sum);
            }
        }
        constexpr auto most = std::numeric_limits<std::uint64_t>::max();
        const auto wide = pilfer::strided(std::uint64_t{5}, most, std::numeric_limits<std::int64_t>::max());
        EXPECT_EQ(wide.size(), 2U);
        EXPECT_EQ(wide[1], 5 + (most >> 1));
        const auto whole = pilfer::strided(std::uint64_t{0}, most, std::numeric_limits<std::int64_t>::max());
        EXPECT_EQ(whole.size(), 3U);
        EXPECT_EQ(whole[2], most - 1); // the index times the step is more than a signed number holds
        const auto negative = pilfer::strided(-7, 8, 5);
        EXPECT_TRUE(std::ranges::equal(negative, std::array{-7, -2, 3}));
    });
}

TEST_P(algorithm_spaces, steps_over_elements_in_every_algorithm) {
    pilfer::pool pool(with_workers());
    pool.run([] {
        for (const std::size_t n : {0U, 1U, 2U, 3U, 4U, 1000U, 20'001U}) {
            std::vector<int> v(n);
            std::iota(v.begin(), v.end(), 0);
            std::vector<int> thirds;
            for (std::size_t i = 0; i < n; i += 3) {
                thirds.push_back(v[i]);
            }
            const auto steps = pilfer::strided(v, 3);
            EXPECT_TRUE(std::ranges::equal(steps, thirds));
            EXPECT_EQ(pilfer::reduce(steps, 0L), std::accumulate(thirds.begin(), thirds.end(), 0L));
            std::vector<int> out(thirds.size());
            pilfer::transform(steps, out.begin(), std::negate<>{});
            EXPECT_TRUE(std::ranges::equal(out, thirds, {}, std::negate<>{}));
            if (n > 900) {
                EXPECT_TRUE(pilfer::find(steps, 600).base() == v.begin() + 600);
            }
            pilfer::sort(steps, std::greater<>{});
            EXPECT_TRUE(std::equal(thirds.rbegin(), thirds.rend(), steps.begin()));
            pilfer::fill(pilfer::strided(v.begin(), v.end(), 3), 7);
            for (std::size_t i = 0; i < n; ++i) {
                EXPECT_EQ(v[i], i % 3 == 0 ? 7 : static_cast<int>(i));
            }
        }
    });
}

PILFER_OVER_WORKERS(algorithm_spaces);

TEST(strided_ranges, a_step_below_one_is_an_error) {
    std::vector<int> v(5);
    EXPECT_THROW((void)pilfer::strided(0, 10, 0), std::invalid_argument);
    EXPECT_THROW((void)pilfer::strided(0, 10, -1), std::invalid_argument);
    EXPECT_THROW((void)pilfer::strided(v, 0), std::invalid_argument);
}

static_assert(std::ranges::random_access_range<pilfer::strided_range<int>>);
static_assert(std::ranges::random_access_range<pilfer::strided_range<std::vector<int>::iterator>>);
static_assert(std::ranges::borrowed_range<pilfer::strided_range<int>>);
static_assert(std::ranges::view<pilfer::strided_range<int>>);

} // namespace
