// Which sanitizer the tests are compiled with.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define TBB_TESTS_THREAD_SANITIZER 1
#elif defined(__SANITIZE_ADDRESS__)
#define TBB_TESTS_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TBB_TESTS_THREAD_SANITIZER 1
#elif __has_feature(address_sanitizer)
#define TBB_TESTS_ADDRESS_SANITIZER 1
#endif
#endif

#if defined(TBB_TESTS_THREAD_SANITIZER)
constexpr bool thread_sanitizer = true;
#else
constexpr bool thread_sanitizer = false;
#endif
#if defined(TBB_TESTS_ADDRESS_SANITIZER)
constexpr bool address_sanitizer = true;
#else
constexpr bool address_sanitizer = false;
#endif
