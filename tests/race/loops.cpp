// Races between the elements of a loop or of an algorithm.
#include <array>
#include <atomic>
#include <cstdio>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include <pilfer/algorithm/reduce.hpp>
#include <pilfer/algorithm/scan.hpp>
#include <pilfer/algorithm/search.hpp>
#include <pilfer/sort.hpp>

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

PLANTED(map_with_side_effect, "a map of a reduction that counts its calls") {
    int calls = 0;
    const auto square = [&](int i) {
        ++calls; // races
        return i * i;
    };
    keep(pilfer::reduce(0, 40, 0, square, std::plus<>{}));
}
REPAIRED(map_with_side_effect) {
    const auto square = [](int i) { return i * i; };
    keep(pilfer::reduce(0, 40, 0, square, std::plus<>{}));
}

PLANTED(combine_with_side_effect, "an operation of a reduction that counts its calls") {
    int calls = 0;
    const auto add = [&](long a, long b) {
        ++calls; // races
        return a + b;
    };
    keep(pilfer::reduce(
        0, 40, 0L, [](int i) { return long(i); }, add));
}
REPAIRED(combine_with_side_effect) {
    keep(pilfer::reduce(
        0, 40, 0L, [](int i) { return long(i); }, std::plus<>{}));
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

PLANTED(counting_predicate, "a predicate of an algorithm that counts its calls") {
    const std::vector<int> v(60, 2);
    long calls = 0;
    const auto is_even = [&](int x) {
        ++calls; // races
        return x % 2 == 0;
    };
    keep(pilfer::count_if(v.begin(), v.end(), is_even)); // races: clang++ has no line in the predicate
}
REPAIRED(counting_predicate) {
    const std::vector<int> v(60, 2);
    keep(pilfer::count_if(v.begin(), v.end(), [](int x) { return x % 2 == 0; }));
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

namespace {

/// Elements that a value of a reduction stands for.
struct part {
    std::size_t first, last;
};
[[nodiscard]] part both(part a, part b) { return {a.first, b.last}; }

} // namespace

PLANTED(operation_outside, "an operation of a reduction changes an element beside its own ones") {
    std::vector<long> v(64);
    const auto element = [&](std::size_t i) {
        v[i] += 1; // races
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        v[b.last % 64] += 1; // races
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}
REPAIRED(operation_outside) {
    std::vector<long> v(64);
    const auto element = [&](std::size_t i) {
        v[i] += 1;
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        v[a.first] += v[b.last - 1];
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}

PLANTED(operation_outside_forks, "elements and operations of a reduction fork") {
    std::vector<long> v(64);
    std::vector<long> w(64);
    const auto element = [&](std::size_t i) {
        pilfer::join([&] { v[i] += 1; }, // races
                     [&] { w[i] += 1; });
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        pilfer::join([&] { v[b.last % 64] += 1; }, // races
                     [&] { w[a.first] += 1; });
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
    keep(w);
}
REPAIRED(operation_outside_forks) {
    std::vector<long> v(64);
    std::vector<long> w(64);
    const auto element = [&](std::size_t i) {
        pilfer::join([&] { v[i] += 1; }, [&] { w[i] += 1; });
        v[i] += w[i];
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        pilfer::join([&] { v[a.first] += 1; }, [&] { w[b.last - 1] += v[b.last - 1]; });
        w[a.first] += w[b.last - 1];
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
    keep(w);
}

PLANTED(operation_beside_forks,
        "some elements of a reduction fork, and an operation changes one before its own") {
    std::vector<long> v(96);
    const auto element = [&](std::size_t i) {
        if (i % 5 == 0) {
            pilfer::join([&] { v[i] += 1; }, [] {});
        } else {
            v[i] += 1; // races
        }
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        if (a.first % 5 > 1) {
            v[a.first - 1] += 1; // races
        }
        v[a.first] += v[b.last - 1]; // races
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}
REPAIRED(operation_beside_forks) {
    std::vector<long> v(96);
    const auto element = [&](std::size_t i) {
        if (i % 5 == 0) {
            pilfer::join([&] { v[i] += 1; }, [] {});
        } else {
            v[i] += 1;
        }
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        if (a.first % 3 == 0) {
            pilfer::join([&] { v[a.first] += 1; }, [&] { v[b.last - 1] += 1; });
        }
        for (std::size_t i = a.first; i < b.last; ++i) {
            v[i] += 1;
        }
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}

PLANTED(operation_beside_fork,
        "an operation of a reduction changes an element that forks, before its own ones") {
    std::vector<long> v(96);
    const auto element = [&](std::size_t i) {
        if (i % 8 == 5) {
            pilfer::join([&] { v[i] += 1; }, [] {}); // races
        }
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        if (a.first % 8 == 6) {
            v[a.first - 1] += 1; // races
        }
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}
REPAIRED(operation_beside_fork) {
    std::vector<long> v(96);
    const auto element = [&](std::size_t i) {
        if (i % 8 == 5) {
            pilfer::join([&] { v[i] += 1; }, [] {});
        }
        return part{i, i + 1};
    };
    const auto operation = [&](part a, part b) {
        if (a.first % 8 == 4) {
            v[a.first + 1] += 1;
        }
        return both(a, b);
    };
    keep(pilfer::reduce(std::size_t{0}, v.size(), part{0, 0}, element, operation));
    keep(v);
}

PLANTED(read_after_write, "an element writes what all read, and reads it again itself") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            v[3] = 7; // races
        }
        sums[i] = v[3]; // races
    });
    keep(sums);
}
REPAIRED(read_after_write) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        v[i] = 7;
        sums[i] = v[i] + v[i];
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_of(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(own_word_read, "an element writes a word and reads it in a call, as all others do") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            v[3] = 7; // races
        }
        sums[i] = word_of(v, 3);
    });
    keep(sums);
}
REPAIRED(own_word_read) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        v[i] = 7;
        sums[i] = word_of(v, i) + word_of(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_read_before(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(write_after_reads, "an element reads a word in two calls and writes it, and all others read it") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = word_read_before(v, 3);
        sums[i] += word_read_before(v, 3);
        if (i == 0) {
            v[3] = 7; // races
        }
    });
    keep(sums);
}
REPAIRED(write_after_reads) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = word_read_before(v, i);
        sums[i] += word_read_before(v, i);
        v[i] = 7;
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] void fill_after_reads(std::vector<long>& v, std::size_t first, std::size_t last) {
    for (; first != last; ++first) {
        v[first] = 7; // races
    }
}
[[gnu::noinline]] long total_before(const std::vector<long>& v, std::size_t first, std::size_t last) {
    long sum = 0;
    for (; first != last; ++first) {
        sum += v[first];
    }
    return sum;
}
[[gnu::noinline]] long word_of_block(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(block_written_after_reads, "an element reads a block and writes it, and all others read one word") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            sums[i] = total_before(v, 0, 8) + word_of_block(v, 6);
            fill_after_reads(v, 0, 8);
        } else {
            sums[i] = word_of_block(v, 6);
        }
    });
    keep(sums);
}
REPAIRED(block_written_after_reads) {
    std::vector<long> v(256, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = total_before(v, 8 * i, 8 * i + 8) + word_of_block(v, 8 * i + 6);
        fill_after_reads(v, 8 * i, 8 * i + 8);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_without_lock(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(read_without_lock, "an element writes a word under a lock, and all read it without the lock") {
    pilfer::mutex lock;
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            const std::lock_guard hold(lock);
            v[3] = 7; // races
        }
        sums[i] = word_without_lock(v, 3);
        sums[i] += word_without_lock(v, 3);
    });
    keep(sums);
}
REPAIRED(read_without_lock) {
    pilfer::mutex lock;
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        {
            const std::lock_guard hold(lock);
            v[i] = 7;
        }
        sums[i] = word_without_lock(v, i);
        sums[i] += word_without_lock(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_without_std_lock(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(read_without_std_lock, "an element writes a word under a std::mutex, and all read it without") {
    std::mutex lock;
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            const std::lock_guard hold(lock);
            v[3] = 7; // races
        }
        sums[i] = word_without_std_lock(v, 3);
        sums[i] += word_without_std_lock(v, 3);
    });
    keep(sums);
}
REPAIRED(read_without_std_lock) {
    std::mutex lock;
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        {
            const std::lock_guard hold(lock);
            v[i] = 7;
        }
        sums[i] = word_without_std_lock(v, i);
        sums[i] += word_without_std_lock(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] void fill(std::vector<long>& v, std::size_t first, std::size_t last) {
    for (; first != last; ++first) {
        v[first] = 7; // races
    }
}
[[gnu::noinline]] long total_of(const std::vector<long>& v, std::size_t first, std::size_t last) {
    long sum = 0;
    for (; first != last; ++first) {
        sum += v[first]; // races
    }
    return sum;
}

} // namespace

PLANTED(own_block_read, "an element writes a block and reads it in a call, as all others do") {
    std::vector<long> v(64);
    std::vector<long> sums(8);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            fill(v, 0, 64);
        }
        sums[i] = total_of(v, 0, 64);
    });
    keep(sums);
}
REPAIRED(own_block_read) {
    std::vector<long> v(64);
    std::vector<long> sums(8);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        fill(v, 8 * i, 8 * i + 8);
        sums[i] = total_of(v, 8 * i, 8 * i + 8);
    });
    keep(sums);
}

PLANTED(operation_after_reads, "an operation of a reduction writes what its elements and later ones read") {
    long limit = 1;
    const auto element = [&](long i) { return i * limit; }; // races
    const auto operation = [&](long a, long b) {
        if (a == 0 && b == 2) {
            limit = 1; // races
        }
        return a;
    };
    keep(pilfer::reduce(0L, 64L, 0L, element, operation));
}
REPAIRED(operation_after_reads) {
    long limit = 1;
    const auto element = [&](long i) { return i * limit; };
    const auto operation = [&](long a, long b) {
        if (a == 0 && b == 32) {
            limit = 1;
        }
        return a;
    };
    keep(pilfer::reduce(0L, 64L, 0L, element, operation));
}

namespace {

/// A result of a reduction whose destructor writes a word.
struct counts_its_end {
    explicit counts_its_end(long* at) noexcept : word(at) {}
    counts_its_end(counts_its_end&& other) noexcept : word(std::exchange(other.word, nullptr)) {}
    counts_its_end& operator=(counts_its_end&& other) noexcept {
        std::swap(word, other.word);
        return *this;
    }
    ~counts_its_end() {
        if (word != nullptr) {
            *word += 1; // races
        }
    }
    long* word;
};
[[nodiscard]] counts_its_end first_of_two(counts_its_end a, const counts_its_end& /*b*/) { return a; }

} // namespace

PLANTED(ended_by_exception, "an exception destroys a result, which writes a word of an element before it") {
    std::vector<long> v(50);
    const auto element = [&](std::size_t i) {
        if (i == 37) {
            throw i;
        }
        v[i] += 1; // races
        return counts_its_end(&v[i == 36 ? 35 : i]);
    };
    try {
        (void)pilfer::reduce(std::size_t{0}, v.size(), counts_its_end(nullptr), element, first_of_two);
    } catch (std::size_t) {
        keep(v);
    }
}
REPAIRED(ended_by_exception) {
    std::vector<long> v(50);
    const auto element = [&](std::size_t i) {
        if (i == 37) {
            throw i;
        }
        v[i] += 1;
        return counts_its_end(&v[i]);
    };
    try {
        (void)pilfer::reduce(std::size_t{0}, v.size(), counts_its_end(nullptr), element, first_of_two);
    } catch (std::size_t) {
        keep(v);
    }
}

PLANTED(counting_comparison, "a comparison of a sort that counts its calls") {
    std::vector<int> v(20'000);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = int(i * 7919 % 20'011);
    }
    long calls = 0;
    const auto less = [&](int a, int b) {
        ++calls; // races
        return a < b;
    };
    pilfer::sort(v.begin(), v.end(), less); // races: clang++ has no line in the comparison
    keep(v);
    keep(calls);
}
REPAIRED(counting_comparison) {
    std::vector<int> v(20'000);
    for (std::size_t i = 0; i < v.size(); ++i) {
        v[i] = int(i * 7919 % 20'011);
    }
    pilfer::sort(v.begin(), v.end(), [](int a, int b) { return a < b; });
    keep(v);
}

namespace {

/// Many calls with an access each, so that records are swept meanwhile.
[[gnu::noinline]] long calls_of(std::vector<long>& scratch, std::size_t depth) {
    scratch[depth] += 1;
    return depth == 0 ? scratch[0] : calls_of(scratch, depth - 1) + calls_of(scratch, depth - 1);
}

} // namespace

PLANTED(slot_across_calls, "an element uses the slot of the next one after many calls") {
    std::vector<long> slots(9);
    for_each(std::size_t{0}, std::size_t{8}, [&](std::size_t i) {
        std::vector<long> scratch(8);
        slots[i] = calls_of(scratch, 7); // races
        slots[i + 1] += 1;               // races
    });
    keep(slots);
}
REPAIRED(slot_across_calls) {
    std::vector<long> slots(9);
    for_each(std::size_t{0}, std::size_t{8}, [&](std::size_t i) {
        std::vector<long> scratch(8);
        slots[i] = 1;
        slots[i] += calls_of(scratch, 7);
        slots[i] += calls_of(scratch, 7);
    });
    keep(slots);
}
