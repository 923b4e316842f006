/* The library and the files of a program that include it are compiled with the same sanitizer, or a link
 * fails: the library defines only one of these names, and each file refers to its own one. The name is what
 * the linker prints. The pointer is never read. C files without a sanitizer run none of the library's code
 * inline, so they match any library. */
#ifndef PILFER_DETAIL_BASE_SAME_SANITIZER_H
#define PILFER_DETAIL_BASE_SAME_SANITIZER_H

#include <pilfer/detail/base/which_sanitizer.h>

/* A program with PILFER_TEST needs the library with PILFER_TEST: inline functions differ. */
#if defined(PILFER_RACE)
#define PILFER_SAME_SANITIZER pilfer_v0_needs_target_pilfer_race__see_docs_races
#elif defined(PILFER_TEST) && defined(PILFER_ASAN)
#define PILFER_SAME_SANITIZER                                                                                \
    pilfer_v0_needs_target_pilfer_test_built_with_fsanitize_address__see_docs_testing
#elif defined(PILFER_TEST) && defined(PILFER_TSAN)
#define PILFER_SAME_SANITIZER pilfer_v0_needs_target_pilfer_test_built_with_fsanitize_thread__see_docs_testing
#elif defined(PILFER_TEST)
#define PILFER_SAME_SANITIZER pilfer_v0_needs_target_pilfer_test_built_without_fsanitize__see_docs_testing
#elif defined(PILFER_ASAN)
#define PILFER_SAME_SANITIZER pilfer_v0_needs_libpilfer_built_with_fsanitize_address__see_docs_sanitizers
#elif defined(PILFER_TSAN)
#define PILFER_SAME_SANITIZER pilfer_v0_needs_libpilfer_built_with_fsanitize_thread__see_docs_sanitizers
#else
#define PILFER_SAME_SANITIZER pilfer_v0_needs_libpilfer_built_without_fsanitize__see_docs_sanitizers
#endif

/* --gc-sections keeps what is marked so. */
#if defined(__has_attribute)
#if __has_attribute(retain)
#define PILFER_KEPT_BY_LINKER __attribute__((used, retain))
#endif
#endif
#if !defined(PILFER_KEPT_BY_LINKER)
#define PILFER_KEPT_BY_LINKER __attribute__((used))
#endif

#if defined(__cplusplus)
extern "C" {
#endif
#if defined(PILFER_STATIC)
extern const char PILFER_SAME_SANITIZER;
#else
extern const char PILFER_SAME_SANITIZER __attribute__((visibility("default")));
#endif
#if defined(__cplusplus)
}
#endif
/* Static in C++ too: g++ would make an inline variable unique in the process, and a plugin with it could not
 * be unloaded. */
#if defined(__cplusplus) || defined(PILFER_SANITIZED)
PILFER_KEPT_BY_LINKER static const char* const pilfer_v0_same_sanitizer = &PILFER_SAME_SANITIZER;
#endif

#endif
