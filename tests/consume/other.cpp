#include <pilfer/pilfer.hpp>

int sum_below(int n) {
    if (n <= 1) {
        return 0;
    }
    auto [rest, last] = pilfer::join([n] { return sum_below(n - 1); }, [n] { return n - 1; });
    return rest + last;
}
