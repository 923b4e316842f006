// The three ways of a fork, which amalgamated.sh compiles against the headers and against the amalgamation.
#include <pilfer/pilfer.hpp>

long by_join(long n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([n] { return by_join(n - 1); }, [n] { return by_join(n - 2); });
    return a + b;
}

long by_spawn(long n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    pilfer::scope s;
    s.spawn([&] { a = by_spawn(n - 1); });
    const long b = by_spawn(n - 2);
    s.sync();
    return a + b;
}

long by_fork(long n) {
    if (n < 2) {
        return n;
    }
    long a = 0;
    pilfer::scope s;
    s.fork([&] { a = by_fork(n - 1); });
    const long b = by_fork(n - 2);
    s.sync();
    return a + b;
}
