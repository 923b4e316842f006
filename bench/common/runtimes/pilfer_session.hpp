// A pilfer pool for one program; shared by pilfer's runtimes.
#pragma once

#include <cstddef>
#include <pilfer/pilfer.hpp>

namespace bench {

template <pilfer::exposure Exposure>
class pilfer_session {
public:
    pilfer_session(unsigned workers, std::size_t stack_bytes) : m_pool(make_options(workers, stack_bytes)) {}
    template <class F>
    void run(F&& f) {
        m_pool.run(f);
    }
    template <class F>
    void run_flat(F&& f) {
        m_pool.run(f);
    }

private:
    static pilfer::options make_options(unsigned workers, std::size_t stack_bytes) {
        pilfer::options options;
        options.workers = workers;
        options.balance.exposure = Exposure;
#if defined(BENCH_TRACED)
        options.debug.trace_events = 65'536;
#endif
        if (stack_bytes != 0)
            options.stack_size = stack_bytes;
        return options;
    }
    pilfer::pool m_pool;
};

} // namespace bench
