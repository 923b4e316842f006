// The algorithms of parlaylib, if its headers are there (-Dbench_parlay_include=FOLDER). Its scan and its
// filter make a new sequence for the result.
#pragma once

#if defined(BENCH_PARLAY)
#include <parlay/parallel.h>
#include <parlay/primitives.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace parlay_side {

/// Called before the first use.
inline void set_workers(unsigned n) { setenv("PARLAY_NUM_THREADS", std::to_string(n).c_str(), 1); }

template <class In, class Out, class F>
void transform(const In& in, Out& out, F f) {
    parlay::parallel_for(0, in.size(), [&](std::size_t i) { out[i] = f(in[i]); });
}
template <class In>
[[nodiscard]] auto reduce(const In& in) {
    return parlay::reduce(parlay::make_slice(in.data(), in.data() + in.size()));
}
template <class In>
[[nodiscard]] auto scan(const In& in) {
    return parlay::scan_inclusive(parlay::make_slice(in.data(), in.data() + in.size()));
}
template <class In, class F>
[[nodiscard]] auto filter(const In& in, F f) {
    return parlay::filter(parlay::make_slice(in.data(), in.data() + in.size()), f);
}
template <class In, class T>
[[nodiscard]] std::size_t find(const In& in, const T& value) {
    const auto all = parlay::make_slice(in.data(), in.data() + in.size());
    return static_cast<std::size_t>(parlay::find(all, value) - all.begin());
}
template <class In, class F>
[[nodiscard]] auto histogram(const In& in, std::size_t bins, F bin_of) {
    const auto all = parlay::delayed_tabulate(in.size(), [&](std::size_t i) { return bin_of(in[i]); });
    return parlay::histogram_by_index(all, bins);
}
template <class V>
void sort(V& v) {
    parlay::sort_inplace(parlay::make_slice(v.data(), v.data() + v.size()));
}

} // namespace parlay_side
#endif
