#include "base/write.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#if defined(PILFER_TEST)
#include <signal.h>

#include <atomic>
#endif

namespace pilfer {
inline namespace v0 {
namespace os {

#if defined(PILFER_TEST)
namespace {

std::atomic<const char*> said_at_abort{nullptr};
struct sigaction before_abort {};

} // namespace

void write_at_abort(const char* text) noexcept {
    const bool was = said_at_abort.exchange(text) != nullptr;
    if (text == nullptr) {
        (void)sigaction(SIGABRT, &before_abort, nullptr);
    } else if (!was) {
        struct sigaction mine {};
        mine.sa_handler = [](int) {
            if (const char* const last = said_at_abort.load()) {
                write_error(last);
            }
            (void)sigaction(SIGABRT, &before_abort, nullptr); // abort() raises it once more
        };
        (void)sigaction(SIGABRT, &mine, &before_abort);
    }
}
#endif

void write_error(const char* text) noexcept { write_all(STDERR_FILENO, text, std::strlen(text)); }

void write_all(int file, const char* text, std::size_t left) noexcept {
    while (left > 0) {
        const ssize_t n = write(file, text, left);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return;
        }
        text += n;
        left -= static_cast<std::size_t>(n);
    }
}

} // namespace os
} // namespace v0
} // namespace pilfer
