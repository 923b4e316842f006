// Races in the functions that an algorithm calls: of a reduction, a search, a sort.
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <pilfer/algorithm/reduce.hpp>
#include <pilfer/algorithm/search.hpp>
#include <pilfer/sort.hpp>

#include "cases.hpp"

using cases::keep;

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
