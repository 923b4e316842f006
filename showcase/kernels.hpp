// Two figures from the benchmark programs (bench/kernels): the cost of a fork, and the speed-up by worker
// count.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report.hpp"

namespace showcase {

/// The programs of a kernel that are built here, one row for each: `serial` first, with one worker.
/// Empty without any.
kernel_report kernel_rows(std::string kernel, std::vector<std::string> const& runtimes,
                          std::vector<unsigned> const& workers);

/// One process of one row: a warm-up and `repeat` timed runs, whose times are added to the row. A wrong
/// answer, or one that differs from that of another row, is the row's failure.
void run_kernel(kernel_report& kernel, row& r, unsigned repeat, std::function<void()> const& tick);

/// 1, 2, 4 ... and the highest count itself.
std::vector<unsigned> worker_counts(unsigned highest);

} // namespace showcase
