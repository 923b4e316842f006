// The activity of each worker over time, for ui.perfetto.dev: `trace FILE` writes a trace of a small program.
// Every program does this with PILFER_TRACE=FILE in its environment, without a line of code.
#include <cstdio>
#include <sstream>
#include <string>

#include <pilfer/pilfer.hpp>

namespace {

long fib(long n) {
    if (n < 2) {
        return n;
    }
    auto [a, b] = pilfer::join([=] { return fib(n - 1); }, [=] { return fib(n - 2); });
    return a + b;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++n;
    }
    return n;
}

} // namespace

int main(int argc, char** argv) {
    pilfer::options o;
    o.workers = 2;
    o.debug.trace_events = 1U << 16; // per worker; the newest are kept
    pilfer::pool pool(o);

    std::printf("fib(25) = %ld\n", pool.run([] { return fib(25); }));
    pool.run([] {
        pilfer::scope s;
        for (int i = 0; i < 10; ++i) {
            s.fork([] { (void)fib(15); });
        }
        s.sync();
    });
    pool.shutdown(); // not needed; but from here on trace and counters agree

    std::ostringstream out;
    pilfer::write_trace(pool, out);
    const std::string text = out.str();
    const pilfer::counters c = pool.counters();
    std::printf("tracks: %zu\n", count(text, "\"thread_name\""));
    std::printf("slices of submitted tasks: %zu\n", count(text, "\"submitted submission\""));
    std::printf("every slice ends: %s\n",
                count(text, "\"ph\":\"B\"") == count(text, "\"ph\":\"E\"") ? "yes" : "no");
    std::printf("every theft is there: %s\n", count(text, "\"stolen ") == c.run_stolen ? "yes" : "no");
    std::printf("every sleep is there: %s\n", count(text, "\"sleep\"") == c.sleeps ? "yes" : "no");
    if (argc > 1) {
        pilfer::write_trace(pool, std::string(argv[1]));
    }
}
