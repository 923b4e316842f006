// Sizes and answers of fib, and the frame around the function that each runtime writes in its own way.
#pragma once

#include <cstdint>

#include "common/bench.hpp"

namespace bench::fib {

struct setting {
    int n;
    std::uint64_t answer;
};

inline constexpr by_size<setting> config{.tiny = {20, 6'765},
                                         .quick = {32, 2'178'309},
                                         .medium = {38, 39'088'169},
                                         .full = {39, 63'245'986},
                                         .large = {42, 267'914'296}};

template <std::uint64_t (*Function)(int)>
class kernel : public kernel_base {
public:
    static constexpr const char* name = "fib";
    explicit kernel(size s) : m_setting(config[s]) {}
    std::uint64_t run() const { return Function(m_setting.n); }
    bool check(std::uint64_t answer) const { return answer == m_setting.answer; }

private:
    setting m_setting;
};

} // namespace bench::fib
