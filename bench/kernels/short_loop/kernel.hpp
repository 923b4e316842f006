// One loop of a hundred iterations of a microsecond: so short that a delay of one thread shows. Each run is
// one loop; sharing.py takes the 99th percentile of many.
#pragma once

#include "common/flat.hpp"

namespace bench {
namespace short_loop {

inline constexpr flat::setting any_size{100, 0xca970f0b0d8c35a0};
inline constexpr by_size<flat::setting> config{any_size, any_size, any_size, any_size, any_size};

} // namespace short_loop

template <class R>
class kernel : public flat::items_kernel<R, flat::one_loop> {
public:
    static constexpr const char* name = "short_loop";
    static constexpr bool flat = true;
    explicit kernel(size s) : bench::flat::items_kernel<R, bench::flat::one_loop>(short_loop::config[s]) {}
};

} // namespace bench
