// pilfer by scope and defer: the child may be stolen, the caller goes on.
#pragma once

#include "common/runtimes/pilfer_scope.hpp"

namespace bench {

struct defer_verb {
    static constexpr const char* name = "pilfer_defer";
    static constexpr bool children_have_own_stacks = false;
    template <class F>
    static void start(pilfer::scope& scope, F&& f) {
        scope.defer(std::forward<F>(f));
    }
};

using runtime = scope_runtime<defer_verb>;

} // namespace bench
