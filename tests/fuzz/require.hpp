// The check of a fuzzer: a false condition is a finding.
#pragma once

#include <cstdio>
#include <cstdlib>

inline void require(bool condition, const char* otherwise) {
    if (!condition) {
        std::fprintf(stderr, "finding: %s\n", otherwise);
        std::abort();
    }
}
