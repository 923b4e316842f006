#include "capi/error.hpp"

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>
#include <system_error>

#include <pilfer/cancel.hpp>
#include <pilfer/error.hpp>

#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

void tell(std::string* why, const char* what) noexcept {
    if (why == nullptr) {
        return;
    }
    try {
        *why = what;
    } catch (const std::bad_alloc&) {
        why->clear();
    }
}

constexpr int last_errno = 899; // so that no code reaches -1000, where the caller's own begin

[[nodiscard]] const char* text_of(int error) noexcept {
    const char* const text = os::error_text(error);
    return text != nullptr ? text : "an error of the operating system";
}

} // namespace

int code_of(const std::error_code& error) noexcept {
    switch (const int n = error.value()) {
    case 0:
        return 0;
    case ETIMEDOUT:
        return PILFER_ETIMEDOUT;
    case ECANCELED:
        return PILFER_ECANCELED;
    case ENOMEM:
        return PILFER_ENOMEM;
    default:
        return n > 0 && n <= last_errno ? PILFER_EERRNO - n : PILFER_ESYSTEM;
    }
}

void throw_returned(int code) {
    if (code == PILFER_ECANCELED) {
        throw stopped();
    }
    throw returned_code{code < 0 ? code : PILFER_EINVAL};
}

int code_of_caught(std::string* why) noexcept {
    try {
        throw;
    } catch (const returned_code& e) {
        return e.code;
    } catch (const stopped&) {
        return PILFER_ECANCELED;
    } catch (const pool_closed& e) {
        tell(why, e.what());
        return PILFER_ECLOSED;
    } catch (const pool_forked& e) {
        tell(why, e.what());
        return PILFER_EFORKED;
    } catch (const queue_full& e) {
        tell(why, e.what());
        return PILFER_EFULL;
    } catch (const broken_promise& e) {
        tell(why, e.what());
        return PILFER_EBROKEN;
    } catch (const usage_error& e) {
        tell(why, e.what());
        return PILFER_EUSAGE;
    } catch (const std::bad_alloc& e) {
        tell(why, e.what());
        return PILFER_ENOMEM;
    } catch (const std::logic_error& e) { // invalid_argument, out_of_range
        tell(why, e.what());
        return PILFER_EINVAL;
    } catch (const std::system_error& e) {
        tell(why, e.what());
        return PILFER_ESYSTEM;
    } catch (...) {
        capi::escaped();
    }
}

} // namespace capi
} // namespace v0
} // namespace pilfer

extern "C" const char* pilfer_strerror(int code) {
    switch (code) {
    case 0:
        return "no error";
    case PILFER_EINVAL:
        return "an argument is NULL or out of its range";
    case PILFER_ENOMEM:
        return "no memory";
    case PILFER_ECLOSED:
        return "the pool is shut down, or the channel closed";
    case PILFER_EBROKEN:
        return "the task was dropped by shutdown(drop), or the promise was freed unset";
    case PILFER_EUSAGE:
        return "only the owner of a scope, or only a thread outside the pool, may make this call, "
               "the promise was set before, or the graph is wrong or runs";
    case PILFER_ESYSTEM:
        return "the operating system refused a thread or a file";
    case PILFER_ETIMEDOUT:
        return "it did not happen in time";
    case PILFER_EFORKED:
        return "the pool was made by the parent process, before fork()";
    case PILFER_EFULL:
        return "the pool's queue is full";
    case PILFER_ECANCELED:
        return "the descriptor was forgotten or closed, or a scope of the task was cancelled";
    case PILFER_EREMOTE:
        return "a job failed, here or on another rank";
    case PILFER_EMISMATCH:
        return "the ranks run different programs";
    default:
        break;
    }
    const int error = pilfer_errno(code);
    return error != 0 ? pilfer::capi::text_of(error) : "no code of pilfer";
}

extern "C" int pilfer_errno(int code) {
    // No subtraction before the range is known.
    return code < PILFER_EERRNO && code >= PILFER_EERRNO - pilfer::capi::last_errno ? PILFER_EERRNO - code
                                                                                    : 0;
}
