/* PILFER_ASAN or PILFER_TSAN if this file is compiled with AddressSanitizer or ThreadSanitizer. */
#ifndef PILFER_DETAIL_BASE_WHICH_SANITIZER_H
#define PILFER_DETAIL_BASE_WHICH_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define PILFER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PILFER_ASAN 1
#endif
#endif
/* The library of `pilfer race` is not instrumented itself, but takes part in the switches of stacks. */
#if defined(__SANITIZE_THREAD__) || defined(PILFER_RACE)
#define PILFER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PILFER_TSAN 1
#endif
#endif
#if defined(PILFER_ASAN) || defined(PILFER_TSAN)
#define PILFER_SANITIZED 1
#endif

#endif
