// race_cases: the list of cases; race_cases NAME planted|repaired: runs one of them in a pool.
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
    for (const cases::one* c = cases::first; c != nullptr; c = c->next) {
        if (std::string_view(c->name) == argv[1]) {
            pilfer::pool pool;
            pool.run(std::string_view(argv[2]) == "planted" ? c->planted : c->repaired);
            std::puts("the program has ended");
            return 0;
        }
    }
    std::fprintf(stderr, "race_cases: there is no case %s\n", argv[1]);
    return 2;
}
