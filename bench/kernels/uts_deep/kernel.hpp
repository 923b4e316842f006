// Unbalanced Tree Search on deep trees.
#pragma once

#include "kernels/uts/walk.hpp"
#include "kernels/uts_deep/config.hpp"

namespace bench {

template <class R>
class kernel : public uts::walk<R, uts::deep> {
public:
    static constexpr const char* name = "uts_deep";
    explicit kernel(size s) : uts::walk<R, uts::deep>(s), m_stack_bytes(uts::deep_stack[s]) {}
    std::size_t stack_bytes() const { return m_stack_bytes; }

private:
    std::size_t m_stack_bytes;
};

} // namespace bench
