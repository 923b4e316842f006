// One loop of a million iterations of a microsecond.
#pragma once

#include "common/flat.hpp"

namespace bench {

template <class R>
class kernel : public flat::items_kernel<R, flat::one_loop> {
public:
    static constexpr const char* name = "flat_loop";
    static constexpr bool flat = true;
    using bench::flat::items_kernel<R, bench::flat::one_loop>::items_kernel;
};

} // namespace bench
