// The loops call their own functions, also when the iterator's and the functions' namespace has greedy
// templates of the same names.
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <vector>

#include "support/harness.hpp"
#include "support/hijack.hpp"

namespace greedy {

/// A random-access iterator whose only associated namespace of interest is this one. It is checked.
class cursor {
public:
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    using reference = int&;
    using pointer = int*;
    using iterator_category = std::random_access_iterator_tag;

    cursor() = default;
    explicit cursor(int* at) : m_at(at) {}

    reference operator*() const { return *m_at; }
    reference operator[](difference_type n) const { return m_at[n]; }
    cursor& operator++() {
        ++m_at;
        return *this;
    }
    cursor operator++(int) { return cursor(m_at++); }
    cursor& operator--() {
        --m_at;
        return *this;
    }
    cursor operator--(int) { return cursor(m_at--); }
    cursor& operator+=(difference_type n) {
        m_at += n;
        return *this;
    }
    cursor& operator-=(difference_type n) {
        m_at -= n;
        return *this;
    }
    friend cursor operator+(cursor c, difference_type n) { return cursor(c.m_at + n); }
    friend cursor operator+(difference_type n, cursor c) { return cursor(c.m_at + n); }
    friend cursor operator-(cursor c, difference_type n) { return cursor(c.m_at - n); }
    friend difference_type operator-(cursor a, cursor b) {
        if (a.m_range != b.m_range) {
            throw std::out_of_range("iterators of two ranges");
        }
        return a.m_at - b.m_at;
    }
    [[nodiscard]] cursor of_another_range(difference_type n) const {
        cursor c = *this + n;
        c.m_range = m_range + 1;
        return c;
    }
    friend auto operator<=>(cursor, cursor) = default;

private:
    int* m_at = nullptr;
    int m_range = 0;
};

// More specialised than the library's templates, so that these would win even where the greedy ones lose.
void element(cursor) = delete;
void advanced(cursor, std::uint64_t) = delete;
void range_size(cursor, cursor) = delete;
template <class Body>
void run_range(cursor, cursor, Body&) = delete;
template <class T, class Map, class Combine>
T reduce_tree(cursor, std::uint64_t, Map&, Combine&) = delete;
template <class T, class Map, class Combine>
T serial_tree(cursor, std::uint64_t, Map&, Combine&) = delete;

struct triple {
    void operator()(int& v) const { v *= 3; }
};
struct triple_part {
    void operator()(std::uint64_t, cursor first, cursor last) const {
        for (; first != last; ++first) {
            *first *= 3;
        }
    }
};
/// Counts down to 0.
struct down {
    int* left;
    std::optional<int> operator()() const { return *left > 0 ? std::optional(--*left) : std::nullopt; }
};
struct widen {
    std::int64_t operator()(int v) const { return v; }
};
struct add {
    std::int64_t operator()(std::int64_t a, std::int64_t b) const { return a + b; }
};
struct count_one {
    std::atomic<int>* count;
    void operator()(int) const { count->fetch_add(1); }
};

} // namespace greedy

namespace {

using namespace support;

class loop_adl : public over_workers {};

TEST_P(loop_adl, for_each_over_user_iterators) {
    pilfer::pool pool(with_workers());
    std::vector<int> values(20'000, 1);
    const greedy::cursor first(values.data());
    pool.run([&] { pilfer::for_each(first, first + 20'000, greedy::triple{}); });
    for (const int v : values) {
        ASSERT_EQ(v, 3);
    }
}

TEST_P(loop_adl, loop_team_over_user_iterators) {
    pilfer::pool pool(with_workers());
    std::vector<int> values(1000, 1);
    const greedy::cursor first(values.data());
    pool.run([&] {
        pilfer::loop_team team;
        team.for_each(first, first + 1000, greedy::triple{});
        team.phases(2, first, first + 1000, greedy::triple_part{});
    });
    for (const int v : values) {
        ASSERT_EQ(v, 27);
    }
}

TEST_P(loop_adl, pipeline) {
    pilfer::pool pool(with_workers());
    std::atomic<int> count{0};
    pool.run([&] {
        int left = 10;
        pilfer::pipeline(4, pilfer::serial_in_order(greedy::down{&left}),
                         pilfer::parallel_stage(greedy::widen{}),
                         pilfer::serial_out_of_order(greedy::count_one{&count}));
    });
    EXPECT_EQ(count, 10);
}

TEST_P(loop_adl, for_each_over_integers) {
    pilfer::pool pool(with_workers());
    std::atomic<int> count{0};
    pool.run([&] { pilfer::for_each(0, 20'000, greedy::count_one{&count}); });
    EXPECT_EQ(count, 20'000);
}

TEST_P(loop_adl, reduce) {
    pilfer::pool pool(with_workers());
    std::vector<int> values(20'000, 2);
    const greedy::cursor first(values.data());
    const auto sum = pool.run([&] {
        return pilfer::reduce(first, first + 20'000, std::int64_t{5}, greedy::widen{}, greedy::add{});
    });
    EXPECT_EQ(sum, 40'005);
}

TEST_P(loop_adl, an_exception_of_an_iterator_reaches_the_caller) {
    pilfer::pool pool(with_workers());
    std::vector<int> values(2000, 1);
    const greedy::cursor first(values.data());
    const greedy::cursor wrong = first.of_another_range(2000);
    EXPECT_THROW(pool.run([&] { pilfer::for_each(first, wrong, greedy::triple{}); }), std::out_of_range);
    EXPECT_THROW((void)pool.run([&] {
        return pilfer::reduce(first, wrong, std::int64_t{5}, greedy::widen{}, greedy::add{});
    }),
                 std::out_of_range);
    EXPECT_THROW(pool.run([&] {
        pilfer::loop_team team;
        team.for_each(first, wrong, greedy::triple{});
    }),
                 std::out_of_range);
}

PILFER_OVER_WORKERS(loop_adl);

} // namespace
