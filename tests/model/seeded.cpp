// One harness against a protocol with a bug put into it: ends with 0 if the checker finds it.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "budget.hpp"
#include "harness.hpp"

int main(int argc, char** argv) {
    using namespace model;
    if (argc < 2) {
        std::fprintf(stderr, "usage: seeded HARNESS [EXECUTIONS]\n");
        return 2;
    }
    const std::uint64_t most = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 2'000'000;
    for (const harness& h : harnesses()) {
        if (std::strcmp(h.name, argv[1]) != 0) {
            continue;
        }
        std::uint64_t tried = 0;
        for (std::uint64_t part = 20'000; tried < most; part *= 4) {
            for (const kind k : {kind::random, kind::priorities, kind::exhaustive}) {
                budget b;
                b.random = b.priorities = b.exhaustive = part;
                report r;
                explore(h, k, b, r);
                tried += r.executions;
                if (r.failed) {
                    std::printf("found after %llu executions (%s): %s\n",
                                static_cast<unsigned long long>(tried), to_string(k), r.message);
                    return 0;
                }
            }
        }
        std::printf("not found in %llu executions\n", static_cast<unsigned long long>(tried));
        return 1;
    }
    std::fprintf(stderr, "no such harness: %s\n", argv[1]);
    return 2;
}
