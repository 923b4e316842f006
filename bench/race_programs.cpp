// race_programs NAME: one kernel in a pool, for bench/race.py. Prints its seconds of the processor and the
// largest resident memory in KiB.
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <optional>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

long serial_fib(int n) { return n < 2 ? n : serial_fib(n - 1) + serial_fib(n - 2); }
long fib(int n, int cutoff) {
    if (n < cutoff) {
        return serial_fib(n);
    }
    auto [a, b] = pilfer::join([=] { return fib(n - 1, cutoff); }, [=] { return fib(n - 2, cutoff); });
    return a + b;
}

void merge_sort(std::vector<int>& v, std::vector<int>& to, std::size_t first, std::size_t last) {
    if (last - first <= 64) {
        for (std::size_t i = first + 1; i < last; ++i) {
            const int x = v[i];
            std::size_t k = i;
            for (; k > first && v[k - 1] > x; --k) {
                v[k] = v[k - 1];
            }
            v[k] = x;
        }
        return;
    }
    const std::size_t middle = (first + last) / 2;
    pilfer::join([&] { merge_sort(v, to, first, middle); }, [&] { merge_sort(v, to, middle, last); });
    std::size_t a = first;
    std::size_t b = middle;
    for (std::size_t i = first; i < last; ++i) {
        to[i] = b == last || (a < middle && v[a] <= v[b]) ? v[a++] : v[b++];
    }
    for (std::size_t i = first; i < last; ++i) {
        v[i] = to[i];
    }
}

long sort_ints() {
    std::vector<int> v(400'000);
    unsigned x = 1;
    for (int& i : v) {
        x = x * 1'664'525U + 1'013'904'223U;
        i = static_cast<int>(x >> 8);
    }
    std::vector<int> to(v.size());
    merge_sort(v, to, 0, v.size());
    return v[1000];
}

long matrix() {
    constexpr std::size_t n = 160;
    std::vector<double> a(n * n, 1);
    std::vector<double> b(n * n, 2);
    std::vector<double> c(n * n);
    pilfer::for_each(std::size_t{0}, n, [&](std::size_t i) {
        for (std::size_t j = 0; j < n; ++j) {
            double sum = 0;
            for (std::size_t k = 0; k < n; ++k) {
                sum += a[i * n + k] * b[k * n + j];
            }
            c[i * n + j] = sum;
        }
    });
    return static_cast<long>(c[5]);
}

long stencil() {
    constexpr std::size_t n = 400;
    std::vector<double> a(n * n, 1);
    std::vector<double> b(n * n, 1);
    for (int round = 0; round < 10; ++round) {
        pilfer::for_each(std::size_t{1}, n - 1, [&](std::size_t i) {
            for (std::size_t j = 1; j + 1 < n; ++j) {
                b[i * n + j] =
                    (a[i * n + j - 1] + a[i * n + j + 1] + a[(i - 1) * n + j] + a[(i + 1) * n + j]) / 4;
            }
        });
        a.swap(b);
    }
    return static_cast<long>(a[n + 1]);
}

int queens(int n, int row, unsigned columns, unsigned left, unsigned right) {
    if (row == n) {
        return 1;
    }
    int found = 0;
    const unsigned free = ~(columns | left | right) & ((1U << n) - 1);
    if (row < 3) {
        std::vector<int> part(static_cast<std::size_t>(n));
        pilfer::scope all;
        for (int c = 0; c < n; ++c) {
            if ((free >> c & 1) != 0) {
                all.fork([&part, c, n, row, columns, left, right] {
                    const unsigned bit = 1U << c;
                    part[static_cast<std::size_t>(c)] =
                        queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
                });
            }
        }
        all.sync();
        for (const int p : part) {
            found += p;
        }
        return found;
    }
    for (int c = 0; c < n; ++c) {
        if ((free >> c & 1) != 0) {
            const unsigned bit = 1U << c;
            found += queens(n, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1);
        }
    }
    return found;
}

long flat_loop() {
    std::vector<int> v(1'000'000);
    pilfer::for_each(std::size_t{0}, v.size(), [&](std::size_t i) { v[i] = static_cast<int>(i); });
    return pilfer::reduce(
        v.begin(), v.end(), 0L, [](int x) { return long(x); }, std::plus<>{});
}

/// Tasks in `n` rows, each after those to the left of it and above it, whose cells it reads. All of them read
/// the vector itself, and so have parallel reads of one word.
long grid(unsigned n, int runs) {
    std::vector<long> cells(std::size_t{n} * n, 1);
    std::vector<pilfer::node<>> tasks;
    pilfer::graph g;
    for (unsigned i = 0; i < n * n; ++i) {
        tasks.push_back(g.task([&cells, n, i] {
            cells[i] += ((i >= n ? cells[i - n] : 0) + (i % n != 0 ? cells[i - 1] : 0)) % 1000;
        }));
        if (i >= n) {
            tasks[i].succeed(tasks[i - n]);
        }
        if (i % n != 0) {
            tasks[i].succeed(tasks[i - 1]);
        }
    }
    for (int i = 0; i < runs; ++i) {
        g.run();
    }
    return cells.back();
}

long chain(unsigned n) {
    long first = 1;
    long last = 0;
    pilfer::node<> before;
    pilfer::graph g;
    before = g.task([&] { first = 2; });
    for (unsigned i = 0; i < n; ++i) {
        before = g.task([&] { last += first; }, before);
    }
    g.run();
    return last;
}

/// A first task, `n` tasks after it, and a last one.
long star(unsigned n) {
    std::vector<long> cells(n);
    long sum = 0;
    pilfer::graph g;
    const auto first = g.task([&] { sum = 1; });
    const auto last = g.task([&] {
        for (const long c : cells) {
            sum += c;
        }
    });
    for (unsigned i = 0; i < n; ++i) {
        g.task([&, i] { cells[i] = sum; }, first).precede(last);
    }
    g.run();
    return sum;
}

long items(int n) {
    long sum = 0;
    pilfer::pipeline(8, pilfer::serial_in_order([&, i = 0]() mutable {
                         return i < n ? std::optional<int>(i++) : std::nullopt;
                     }),
                     pilfer::parallel_stage([](int i) { return i + 1; }),
                     pilfer::serial_in_order([&](int i) { sum += i; }));
    return sum;
}

long (*kernel(const char* name))() {
    if (std::strcmp(name, "fib") == 0) {
        return [] { return fib(24, 2); };
    }
    if (std::strcmp(name, "fib_cutoff") == 0) {
        return [] { return fib(30, 12); };
    }
    if (std::strcmp(name, "merge_sort") == 0) {
        return &sort_ints;
    }
    if (std::strcmp(name, "matrix") == 0) {
        return &matrix;
    }
    if (std::strcmp(name, "stencil") == 0) {
        return &stencil;
    }
    if (std::strcmp(name, "queens") == 0) {
        return [] { return long(queens(10, 0, 0, 0, 0)); };
    }
    if (std::strcmp(name, "grid") == 0) {
        return [] { return grid(100, 1); };
    }
    if (std::strcmp(name, "grid_often") == 0) {
        return [] { return grid(32, 100); };
    }
    if (std::strcmp(name, "chain") == 0) {
        return [] { return chain(100'000); };
    }
    if (std::strcmp(name, "star") == 0) {
        return [] { return star(100'000); };
    }
    if (std::strcmp(name, "items") == 0) {
        return [] { return items(100'000); };
    }
    return std::strcmp(name, "flat_loop") == 0 ? &flat_loop : nullptr;
}

/// In KiB. getrusage() would count the program that started this one, too.
long largest_memory() {
    std::FILE* const status = std::fopen("/proc/self/status", "r");
    long kib = 0;
    for (char line[256]; status != nullptr && kib == 0 && std::fgets(line, sizeof line, status) != nullptr;) {
        (void)std::sscanf(line, "VmHWM: %ld", &kib);
    }
    if (status != nullptr) {
        std::fclose(status);
    }
    return kib;
}

} // namespace

int main(int count, char** words) {
    long (*const run)() = count > 1 ? kernel(words[1]) : nullptr;
    if (run == nullptr) {
        std::fprintf(
            stderr,
            "race_programs "
            "fib|fib_cutoff|merge_sort|matrix|stencil|queens|flat_loop|grid|grid_often|chain|star|items\n");
        return 2;
    }
    pilfer::pool pool;
    const std::clock_t begin = std::clock(); // of the processor: there is one worker
    const long result = pool.run(run);
    const double took = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    std::printf("%.6f %ld %ld\n", took, largest_memory(), result);
}
