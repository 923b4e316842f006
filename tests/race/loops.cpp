// Races between the elements of a loop.
#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <vector>

#include <pilfer/algorithm/reduce.hpp>
#include <pilfer/algorithm/scan.hpp>

#include "cases.hpp"

using cases::keep;
using pilfer::for_each;

PLANTED(sum_in_loop, "a sum over all elements") {
    long sum = 0;
    for_each(0, 100, [&](int i) { sum += i; }); // races
    keep(sum);
}
REPAIRED(sum_in_loop) {
    keep(pilfer::reduce(
        0, 100, 0L, [](int i) { return long(i); }, std::plus<>{}));
}

PLANTED(histogram, "bins of a histogram") {
    std::array<int, 4> bins{};
    for_each(0u, 100u, [&](unsigned i) { ++bins[i % 4]; }); // races
    keep(bins);
}
REPAIRED(histogram) {
    std::array<std::atomic<int>, 4> bins{};
    for_each(0u, 100u, [&](unsigned i) { bins[i % 4].fetch_add(1, std::memory_order_relaxed); });
    keep(bins);
}

PLANTED(prefix_in_place, "a loop whose elements depend on the ones before") {
    std::vector<int> v(20, 1);
    for_each(std::size_t{1}, v.size(), [&](std::size_t i) { v[i] += v[i - 1]; }); // races
    keep(v);
}
REPAIRED(prefix_in_place) {
    std::vector<int> v(20, 1);
    std::vector<int> out(20);
    pilfer::inclusive_scan(v.begin(), v.end(), out.begin());
    keep(out);
}

PLANTED(filter_by_push_back, "a filter that appends to one vector") {
    std::vector<int> even;
    even.reserve(64);
    for_each(0, 32, [&](int i) {
        if (i % 2 == 0) {
            even.push_back(i); // races
        }
    });
    keep(even);
}
REPAIRED(filter_by_push_back) {
    std::vector<char> is_even(32);
    for_each(std::size_t{0}, std::size_t{32}, [&](std::size_t i) { is_even[i] = i % 2 == 0; });
    keep(is_even);
}

namespace {

struct best_so_far {
    int value = 1 << 30;
    int index = -1;
};

} // namespace

PLANTED(index_of_minimum, "the place of the least element") {
    const std::vector<int> v{5, 3, 8, 1, 9, 1};
    best_so_far best;
    for_each(0, int(v.size()), [&](int i) {
        if (v[std::size_t(i)] < best.value) { // races
            best.value = v[std::size_t(i)];   // races
            best.index = i;                   // races
        }
    });
    keep(best);
}
REPAIRED(index_of_minimum) {
    const std::vector<int> v{5, 3, 8, 1, 9, 1};
    const auto lesser = [](best_so_far a, best_so_far b) { return b.value < a.value ? b : a; };
    keep(pilfer::reduce(
        0, int(v.size()), best_so_far{},
        [&](int i) {
            return best_so_far{v[std::size_t(i)], i};
        },
        lesser));
}

PLANTED(stencil_in_place, "a stencil without a second array") {
    std::vector<double> v(20, 1);
    for_each(std::size_t{1}, std::size_t{19},
             [&](std::size_t i) { v[i] = (v[i - 1] + v[i + 1]) / 2; }); // races
    keep(v);
}
REPAIRED(stencil_in_place) {
    const std::vector<double> v(20, 1);
    std::vector<double> next(20);
    for_each(std::size_t{1}, std::size_t{19}, [&](std::size_t i) { next[i] = (v[i - 1] + v[i + 1]) / 2; });
    keep(next);
}

namespace {

using matrix = std::array<std::array<int, 6>, 6>;

void swap_mirrored(matrix& m, std::size_t i, std::size_t j) {
    const int old = m[i][j]; // races
    m[i][j] = m[j][i];       // races
    m[j][i] = old;           // races
}

} // namespace

PLANTED(transposition, "each pair of a matrix is swapped twice") {
    matrix m{};
    for_each(std::size_t{0}, std::size_t{6}, [&](std::size_t i) {
        for (std::size_t j = 0; j < 6; ++j) {
            if (i != j) {
                swap_mirrored(m, i, j);
            }
        }
    });
    keep(m);
}
REPAIRED(transposition) {
    matrix m{};
    for_each(std::size_t{0}, std::size_t{6}, [&](std::size_t i) {
        for (std::size_t j = i + 1; j < 6; ++j) {
            swap_mirrored(m, i, j);
        }
    });
    keep(m);
}

PLANTED(rows_by_columns, "sums of rows, in a loop over columns") {
    const matrix m{};
    std::array<int, 6> sums{};
    for_each(std::size_t{0}, std::size_t{6}, [&](std::size_t column) {
        for (std::size_t row = 0; row < 6; ++row) {
            sums[row] += m[row][column]; // races
        }
    });
    keep(sums);
}
REPAIRED(rows_by_columns) {
    const matrix m{};
    std::array<int, 6> sums{};
    for_each(std::size_t{0}, std::size_t{6}, [&](std::size_t row) {
        for (std::size_t column = 0; column < 6; ++column) {
            sums[row] += m[row][column];
        }
    });
    keep(sums);
}

PLANTED(sieve, "a sieve: all write the same value") {
    std::vector<char> composite(64);
    for_each(2, 8, [&](int p) {
        for (int k = 2 * p; k < 64; k += p) {
            composite[std::size_t(k)] = 1; // races
        }
    });
    keep(composite);
}
REPAIRED(sieve) {
    std::vector<char> composite(64);
    for_each(4, 64, [&](int k) {
        for (int p = 2; p * p <= k; ++p) {
            if (k % p == 0) {
                composite[std::size_t(k)] = 1;
            }
        }
    });
    keep(composite);
}

PLANTED(temporary_outside, "a temporary that is declared outside of the loop") {
    std::vector<int> v(16, 3);
    int square = 0;
    for_each(std::size_t{0}, v.size(), [&](std::size_t i) {
        square = v[i] * v[i]; // races
        keep(square);
        v[i] = square; // races
    });
}
REPAIRED(temporary_outside) {
    std::vector<int> v(16, 3);
    for_each(std::size_t{0}, v.size(), [&](std::size_t i) {
        const int square = v[i] * v[i];
        keep(square);
        v[i] = square;
    });
}

namespace {

const char* text_of(int i) {
    static char text[16];
    text[0] = char('0' + i % 10); // races
    text[1] = '\0';               // races
    return text;
}
std::array<char, 2> own_text_of(int i) { return {char('0' + i % 10), '\0'}; }

} // namespace

PLANTED(static_buffer, "a function with a static buffer") {
    for_each(0, 8, [](int i) { keep(text_of(i)); });
}
REPAIRED(static_buffer) {
    for_each(0, 8, [](int i) { keep(own_text_of(i)); });
}

PLANTED(one_char_too_many, "neighbours of one byte") {
    std::vector<char> text(32, ' ');
    for_each(std::size_t{0}, std::size_t{4}, [&](std::size_t word) {
        for (std::size_t i = 0; i <= 8 && word * 8 + i < 32; ++i) {
            text[word * 8 + i] = 'x'; // races
        }
    });
    keep(text);
}
REPAIRED(one_char_too_many) {
    std::vector<char> text(32, ' ');
    for_each(std::size_t{0}, std::size_t{4}, [&](std::size_t word) {
        for (std::size_t i = 0; i < 8; ++i) {
            text[word * 8 + i] = 'x';
        }
    });
    keep(text);
}

namespace {

void add_to(std::vector<long>& v, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
        v[i] += 1; // races
    }
}

} // namespace

PLANTED(parts_that_overlap, "two parts of an array share one element") {
    std::vector<long> v(512);
    pilfer::join([&] { add_to(v, 0, 257); }, [&] { add_to(v, 256, 512); });
    keep(v);
}
REPAIRED(parts_that_overlap) {
    std::vector<long> v(512);
    pilfer::join([&] { add_to(v, 0, 256); }, [&] { add_to(v, 256, 512); });
    add_to(v, 0, 512);
    pilfer::join([&] { add_to(v, 0, 100); }, [&] { add_to(v, 100, 512); });
    keep(v);
}

namespace {

long sum_of(const std::vector<long>& v) {
    long sum = 0;
    for (const long x : v) { // races
        sum += x;            // races
    }
    return sum;
}

} // namespace

PLANTED(late_writer, "many elements of a loop read an array that a later one writes") {
    std::vector<long> v(64, 1);
    std::array<long, 16> sums{};
    for_each(std::size_t{0}, std::size_t{16}, [&](std::size_t i) {
        sums[i] = sum_of(v);
        if (i == 14) {
            v[40] = 7; // races
        }
    });
    keep(sums);
}
REPAIRED(late_writer) {
    std::vector<long> v(64, 1);
    std::array<long, 16> sums{};
    for (int round = 0; round < 3; ++round) {
        for_each(std::size_t{0}, std::size_t{16}, [&](std::size_t i) { sums[i] = sum_of(v); });
        v[40] += sums[3];
    }
    keep(sums);
}
