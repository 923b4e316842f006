// A plug-in with the library inside.
#include <pilfer/pilfer.hpp>

extern "C" __attribute__((visibility("default"))) int plugin_sum(int n) {
    pilfer::options o;
    o.workers = 2;
    pilfer::pool p(o);
    int sum = 0;
    // More than a thread outside keeps of one size, so that batches go to what all threads share, too.
    for (int i = 0; i < n; ++i) {
        sum += p.async([i] { return i; }).get();
    }
    return sum;
}
