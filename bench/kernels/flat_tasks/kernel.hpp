// A million tasks of a microsecond, started one by one by one task: no range is split.
#pragma once

#include "common/flat.hpp"

namespace bench {

struct one_by_one {
    template <class R, class Body>
    static void all(std::size_t items, const Body& body) {
        R::tasks(items, body);
    }
};

template <class R>
class kernel : public flat::items_kernel<R, one_by_one> {
public:
    static constexpr const char* name = "flat_tasks";
    using flat::items_kernel<R, one_by_one>::items_kernel;
};

} // namespace bench
