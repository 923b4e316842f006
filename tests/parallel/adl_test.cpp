// The loops call their own functions, also when the iterator's and the functions' namespace has greedy
// templates of the same names.
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "support/harness.hpp"
#include "support/hijack.hpp"

namespace greedy {

/// A random-access iterator whose only associated namespace of interest is this one.
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
    friend difference_type operator-(cursor a, cursor b) { return a.m_at - b.m_at; }
    friend auto operator<=>(cursor, cursor) = default;

private:
    int* m_at = nullptr;
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

PILFER_OVER_WORKERS(loop_adl);

} // namespace
