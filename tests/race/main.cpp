// race_cases: the list of cases; race_cases planted|repaired NAME...: runs these, each in a pool.
#include "cases.hpp"

#include <cstdio>

namespace cases {
namespace {

one* first = nullptr;

} // namespace

one::one(const char* called, const char* of, void (*with_race)(), void (*without_race)()) noexcept
    : name(called), kind(of), planted(with_race), repaired(without_race), next(first) {
    first = this;
}

} // namespace cases

int main(int argc, char** argv) {
    if (argc < 3) {
        for (const cases::one* c = cases::first; c != nullptr; c = c->next) {
            std::printf("%s\t%s\n", c->name, c->kind);
        }
        return 0;
    }
    const bool planted = std::string_view(argv[1]) == "planted";
    for (int i = 2; i < argc; ++i) {
        const cases::one* c = cases::first;
        while (c != nullptr && std::string_view(c->name) != argv[i]) {
            c = c->next;
        }
        if (c == nullptr) {
            std::fprintf(stderr, "race_cases: there is no case %s\n", argv[i]);
            return 2;
        }
        pilfer::pool pool;
        pool.run(planted ? c->planted : c->repaired);
    }
    std::puts("the program has ended");
    return 0;
}
