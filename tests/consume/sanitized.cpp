// sanitized [mistake]: tasks that suspend, throw and end, for a program that is compiled with a sanitizer.
// With an argument a task and its child race for a variable, and another child reads memory that is freed.
#include <pilfer/pilfer.hpp>

#include <cstdio>
#include <memory>
#include <stdexcept>

static int sum_below(int n) {
    if (n <= 1) {
        return 0;
    }
    int rest = 0;
    pilfer::scope s;
    s.spawn([&] { rest = sum_below(n - 1); });
    char frame[2048];
    frame[n] = static_cast<char>(n);
    s.sync();
    return rest + frame[n] - 1;
}

static void mistake() {
    int shared = 0;
    auto freed = std::make_unique<int>(1);
    int* const dangling = freed.get();
    freed.reset();
    pilfer::scope s;
    s.spawn([&] { ++shared; });
    ++shared;
    s.sync();
    s.spawn([&] { shared += *dangling; });
    s.sync();
    std::printf("%d\n", shared);
}

int main(int argc, char**) {
    pilfer::options options;
    options.workers = 4;
    pilfer::pool pool(options);
    if (argc > 1) {
        pool.run(mistake);
    }
    int caught = 0;
    for (int i = 0; i < 42; ++i) {
        try {
            pool.run([] {
                pilfer::scope s;
                for (int k = 0; k < 8; ++k) {
                    s.spawn([k] {
                        if (k == 5) {
                            throw std::runtime_error("the fifth child");
                        }
                        (void)sum_below(8);
                    });
                }
                s.sync();
            });
        } catch (const std::runtime_error&) {
            ++caught;
        }
    }
    std::printf("consumed %d and %d\n", caught, pool.run([] { return sum_below(11); }));
}
