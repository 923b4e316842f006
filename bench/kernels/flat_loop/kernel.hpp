// One loop of a million iterations of a microsecond.
#pragma once

#include "common/flat.hpp"

namespace bench {

struct one_loop {
    template <class R, class Body>
    static void all(std::size_t items, const Body& body) {
        R::loop(items, body);
    }
};

template <class R>
class kernel : public flat::items_kernel<R, one_loop> {
public:
    static constexpr const char* name = "flat_loop";
    static constexpr bool flat = true;
    using bench::flat::items_kernel<R, one_loop>::items_kernel;
};

} // namespace bench
