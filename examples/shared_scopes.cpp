// A scope is plain memory of its worker until another thread may reach one of its tasks. Then it and all its
// enclosing scopes are shared, for good. The number of shared scopes shows how much of a program really runs
// in parallel.
#include <atomic>
#include <cstdio>
#include <thread>

#include <pilfer/pilfer.hpp>

namespace {

/// A scope in each of 2^(depth + 1) - 1 tasks.
void tree(int depth) {
    pilfer::scope s;
    if (depth > 0) {
        s.spawn([=] { tree(depth - 1); });
        s.fork([=] { tree(depth - 1); });
    }
    s.sync();
}

const char* said(const pilfer::scope& s) { return s.shared() ? "shared" : "not shared"; }

} // namespace

int main() {
    pilfer::options o;
    o.workers = 1;
    pilfer::pool alone(o);
    alone.run([] { tree(10); });
    std::printf("one worker, 2047 scopes: %d are shared\n", static_cast<int>(alone.counters().scopes_shared));

    o.workers = 2;
    pilfer::pool two(o);
    two.run([] {
        pilfer::scope outer;
        pilfer::scope inner;
        std::atomic<bool> stolen{false};
        inner.spawn([&stolen] {
            while (
                !stolen) { // announces nothing, so the other worker has to reach for the rest of the parent
                std::this_thread::yield();
            }
        });
        const pilfer::scope later;
        std::printf("a stolen frame, inner scope: %s, outer: %s, a later one: %s\n", said(inner), said(outer),
                    said(later));
        stolen = true;
        inner.sync();
    });
}
