// The thread of a worker as the user sees it: its name, its priority, and what is called when it begins and
// ends.
#include <cstdio>
#include <exception>
#include <functional>

#include "base/os.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr const char* usual_name = "pilfer";

[[noreturn]] void ends_program(const char* option, const std::exception_ptr& error) noexcept {
    char text[512]; // written at once: several may end it at the same time
    const auto write = [&](const char* what) {
        std::snprintf(text, sizeof text, "pilfer: options.%s has thrown: %.400s\n", option, what);
        os::write_error(text);
    };
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        write(e.what());
    } catch (...) {
        write("something that is no std::exception");
    }
    std::terminate();
}

/// Calls `f` as a thread outside of the pool, which is registered as one that the end of `p` waits for.
/// Returns the exception that `f` threw, or null.
[[nodiscard]] std::exception_ptr call(const std::function<void(unsigned)>& f, unsigned number,
                                      const pool_core& p) noexcept {
    const blocking_threads::helping here(p);
    try {
        f(number);
    } catch (...) {
        return caught_error();
    }
    return nullptr;
}

} // namespace

void scheduler::name_thread() noexcept {
    const auto& o = m_pool.settings();
    char name[16];
    std::snprintf(name, sizeof name, "%s/%u", o.name.empty() ? usual_name : o.name.c_str(), index);
    os::thread_name(name);
    if (o.priority != 0) {
        has_priority.store(os::make_nice(m_pool.wanted_nice()), rlx);
    }
}

void name_helper(const options& o) noexcept {
    char name[16];
    std::snprintf(name, sizeof name, "%s/blocking", o.name.empty() ? usual_name : o.name.c_str());
    os::thread_name(name);
}

/// False: the pool cannot be made, and this thread ends.
bool scheduler::thread_begins() noexcept {
    const auto& begin = m_pool.settings().on_start;
    if (!begin) {
        return true;
    }
    disappear();
    const std::exception_ptr error = call(begin, index, m_pool);
    if (!m_pool.thread_has_begun(error) && error != nullptr) {
        ends_program("on_start", error);
    }
    if (error == nullptr) {
        appear();
    }
    return error == nullptr;
}

/// Called after everything else that this worker does for the pool.
void scheduler::thread_ends() noexcept {
    if (const auto& end = m_pool.settings().on_stop) {
        if (const std::exception_ptr error = call(end, index, m_pool)) {
            ends_program("on_stop", error);
        }
    }
}

bool pool_core::thread_has_begun(std::exception_ptr error) noexcept {
    if (m_started.load(std::memory_order_acquire) != 0) {
        return false;
    }
    if (error != nullptr) {
        const std::lock_guard lock(m_begun_mutex);
        if (m_refusal == nullptr) {
            m_refusal = std::move(error);
        }
    }
    m_begun.fetch_add(1, std::memory_order_release);
    os::futex_wake(&m_begun, 1);
    return true;
}

/// Waits until `threads` threads have called options.on_start. Returns the first exception that a call threw,
/// or null.
std::exception_ptr pool_core::wait_until_begun(unsigned threads) noexcept {
    if (!m_options.on_start) {
        return nullptr;
    }
    for (;;) {
        const std::uint32_t begun = m_begun.load(std::memory_order_acquire);
        if (begun == threads) {
            break;
        }
        os::futex_wait(m_begun, begun);
    }
    const std::lock_guard lock(m_begun_mutex);
    return m_refusal;
}

/// Ends the threads and throws `why`. Called in the constructor, whose destructor will not run. No other
/// thread knows this pool yet.
void pool_core::give_up(const std::exception_ptr& why) {
    m_closing.close();
    stop_threads();
    m_joined = true;
    std::rethrow_exception(why);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
