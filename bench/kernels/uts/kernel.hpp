// Unbalanced Tree Search on wide trees.
#pragma once

#include "kernels/uts/config.hpp"
#include "kernels/uts/walk.hpp"

namespace bench {

template <class R>
class kernel : public uts::walk<R, uts::wide> {
public:
    static constexpr const char* name = "uts";
    using uts::walk<R, uts::wide>::walk;
};

} // namespace bench
