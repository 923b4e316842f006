// The main function of a benchmark program: one kernel on one runtime, one process.
#pragma once

#include <chrono>

#include "common/bench.hpp"

namespace bench {

/// Runs Kernel on Runtime with the arguments of the command line: one warm-up, then `repeat` timed runs, each
/// one checked. The runtime's pool is made before the first and destroyed after the last run, outside the
/// time.
template <class Runtime, class Kernel>
int run_program(int argc, char** argv) {
    const command_line line = parse(argc, argv, Kernel::name, Runtime::name);
    Kernel kernel(line.size);
    ensure_stack(argv, kernel.stack_bytes());
    measurement result;
    {
        typename Runtime::session session(line.workers, kernel.stack_bytes());
        for (unsigned round = 0; round <= line.repeat; ++round) {
            kernel.prepare();
            decltype(kernel.run()) answer{};
            const auto begin = std::chrono::steady_clock::now();
            forget(kernel);
            const auto body = [&] { answer = kernel.run(); };
            if constexpr (Kernel::flat) {
                session.run_flat(body);
            } else {
                session.run(body);
            }
            forget(answer);
            const auto end = std::chrono::steady_clock::now();
            answer = kernel.complete(answer);
            if (line.spoil)
                answer += 1;
            result.ok = result.ok && kernel.check(answer);
            result.answer = answer;
            if constexpr (requires { kernel.shares(line.workers); }) {
                if (round > 0) {
                    const auto [smallest, largest] = kernel.shares(line.workers);
                    result.smallest_share.push_back(smallest);
                    result.largest_share.push_back(largest);
                }
            }
            if (round > 0)
                result.seconds.push_back(std::chrono::duration<double>(end - begin).count());
        }
    }
    return report(Kernel::name, Runtime::name, BENCH_COMPILER, line, result);
}

} // namespace bench
