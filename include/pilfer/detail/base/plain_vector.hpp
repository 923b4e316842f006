// A std::vector whose layout does not depend on _GLIBCXX_DEBUG, for members of classes of the library.
#pragma once

#include <vector>

namespace pilfer {
inline namespace v0 {
namespace detail {

#if defined(_GLIBCXX_DEBUG)
// The macro gives std::vector further members. The library and a program may differ in it.
template <class T>
using plain_vector = std::__cxx1998::vector<T>;
#else
template <class T>
using plain_vector = std::vector<T>;
#endif

} // namespace detail
} // namespace v0
} // namespace pilfer
