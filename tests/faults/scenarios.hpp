// What is run while calls fail. Each scenario checks its own results and throws wrong_result; other
// exceptions are what the library threw.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "faults/inject.h"

namespace faults {

struct wrong_result {
    std::string what;
};

/// A call of the C interface failed, and printed the reason on standard error only.
struct refused {};

/// Calls made while one of these exists belong to the harness: they neither count nor fail.
class harness_code {
public:
    harness_code() { pilfer_fault_pause(1); }
    harness_code(const harness_code&) = delete;
    harness_code& operator=(const harness_code&) = delete;
    ~harness_code() { pilfer_fault_pause(-1); }
};

struct scenario {
    const char* name;
    void (*run)();
    bool uses_common = false; ///< pool::common(), which stays
};

[[nodiscard]] std::span<const scenario> task_scenarios();
[[nodiscard]] std::span<const scenario> pool_scenarios();
/// Wrong on purpose, for the test of the test.
[[nodiscard]] std::span<const scenario> broken_scenarios();

/// Makes a pool with no fault in the way, and has it compute something.
void works_again(bool common);

} // namespace faults
