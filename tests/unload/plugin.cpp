// A plug-in with the library inside.
#include <pilfer/pilfer.hpp>

#define PLUGIN_API extern "C" __attribute__((visibility("default")))

namespace {

[[nodiscard]] int fib(int n) {
    if (n < 2) {
        return n;
    }
    const auto both = pilfer::join([n] { return fib(n - 1); }, [n] { return fib(n - 2); });
    return std::get<0>(both) + std::get<1>(both);
}

[[nodiscard]] pilfer::options two_workers() {
    pilfer::options o;
    o.workers = 2;
    return o;
}

} // namespace

PLUGIN_API int plugin_sum(int n) {
    pilfer::pool p(two_workers());
    int sum = 0;
    // More than a foreign thread keeps of one size, so that batches also go to the common list.
    for (int i = 0; i < n; ++i) {
        sum += p.async([i] { return i; }).get();
    }
    return sum;
}

/// By a pool that ends when the plug-in is unloaded, with some of its work still to do.
PLUGIN_API int plugin_static(int n) {
    static pilfer::pool p(two_workers());
    for (int i = 0; i < 20; ++i) {
        p.submit([] {
            try {
                (void)fib(12);
                throw 1; // the unwinder asks the loader, which is unloading
            } catch (int) {
            }
        });
    }
    return p.run([n] { return fib(n); });
}

/// By threads that never end.
PLUGIN_API int plugin_common(int n) { return fib(n); }
