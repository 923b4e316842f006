// pilfer by scope and spawn: the child runs at once, the rest of the caller may be stolen.
#pragma once

#include "common/runtimes/pilfer_scope.hpp"

namespace bench {

struct spawn_verb {
    static constexpr const char* name = "pilfer_spawn";
    static constexpr bool children_have_own_stacks = true;
    template <class F>
    static void start(pilfer::scope& scope, F&& f) {
        scope.spawn(std::forward<F>(f));
    }
};

using runtime = scope_runtime<spawn_verb>;

} // namespace bench
