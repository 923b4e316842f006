// Empty but for ThreadSanitizer: the half of its interface that has no header.
#include <pilfer/detail/sanitizer.hpp>

#if defined(PILFER_TSAN)

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace san {

// Kept per fiber: a destructor that suspends takes it along.
void begin_hidden_order() noexcept {
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
}
void end_hidden_order() noexcept {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
}

} // namespace san
} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
