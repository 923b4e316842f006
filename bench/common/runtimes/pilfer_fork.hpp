// pilfer by scope and fork: the child may be stolen, the caller continues.
#pragma once

#include "common/runtimes/pilfer_scope.hpp"

namespace bench {

struct fork_verb {
    static constexpr const char* name = "pilfer_fork";
    static constexpr bool children_have_own_stacks = false;
    template <class F>
    static void start(pilfer::scope& scope, F&& f) {
        scope.fork(std::forward<F>(f));
    }
};

using runtime = scope_runtime<fork_verb>;

} // namespace bench
