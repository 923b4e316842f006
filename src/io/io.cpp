// Waits for descriptors, and calls that wait if they would block. Stages and edges: README.md.
#include <pilfer/blocking.hpp>
#include <pilfer/io.hpp>

#include <pilfer/detail/base/test_point.hpp>

#include <algorithm>
#include <cerrno>

#include "io/descriptor.hpp"
#include "platform/os.hpp"
#include "platform/poll.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace io {
namespace {

using detail::descriptors;
using detail::instant;

[[nodiscard]] int descriptor_of(const detail::suspension& s) noexcept {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(s.object));
}

// gdb shows the number as an address.
constexpr detail::wait_kind readable_kind{"a descriptor to be readable",
                                          [](const detail::suspension& s, detail::wait_facts& f) noexcept {
                                              f.descriptor = descriptor_of(s);
                                              f.state = "readable";
                                          }};
constexpr detail::wait_kind writable_kind{"a descriptor to be writable",
                                          [](const detail::suspension& s, detail::wait_facts& f) noexcept {
                                              f.descriptor = descriptor_of(s);
                                              f.state = "writable";
                                          }};

[[nodiscard]] std::error_code error_of(int error) noexcept { return {error, std::generic_category()}; }

[[nodiscard]] int wait_on_thread(int fd, std::uint32_t what, instant until) noexcept {
    std::uint64_t ns = os::no_limit;
    if (until != detail::never) {
        const instant t = detail::now();
        ns = t < until ? until - t : 0;
    }
    return os::poll(fd, what, ns);
}

/// Waits for `fd`. Returns 0 or an errno. The caller may be on another thread afterwards.
[[nodiscard]] int wait(int fd, std::uint32_t what, instant until) noexcept {
    detail::worker* const w = detail::this_worker();
    if (w == nullptr || fd < 0 || (until != detail::never && until <= detail::now())) {
        const int error = wait_on_thread(fd, what, until);
        if (error != ETIMEDOUT) {
            return error;
        }
        detail::give_way();
        return detail::must_leave() ? ECANCELED : error;
    }
    if (!w->pool->backend().watches_descriptors()) {
        return pilfer::blocking([&] { return wait_on_thread(fd, what, until); });
    }
    PILFER_TEST_CANNOT_REPEAT("a wait for a descriptor");
    int error = 0;
    detail::readiness* const io = w->pool->io->get(error);
    if (io == nullptr) {
        return error;
    }
    descriptors::slot* s = nullptr;
    error = slot_of(*io, fd, s);
    if (error != 0) {
        return error;
    }
    detail::waiters::entry self;
    io->one_more();
    error = io->waits.enter(*s, fd, self, what);
    if (error != 0) {
        io->one_less();
        return error == EPERM ? 0 : error; // a file: always ready
    }
    auto& here = *static_cast<detail::scheduler*>(w);
    w->pool->alarms->expect(here, detail::any_time,
                            here.reserve.has_context() ? detail::told::soon : detail::told::at_once);
    detail::wait_in(s->list, self, until, what == os::can_read ? readable_kind : writable_kind,
                    reinterpret_cast<const void*>(static_cast<std::uintptr_t>(fd)), detail::awaited::anything,
                    detail::leaves::when_stopped);
    io->one_less();
    if (self.end == detail::waiters::fate::withdrawn) {
        return detail::must_leave() ? ECANCELED : ETIMEDOUT;
    }
    return self.wants == descriptors::forgotten ? ECANCELED : 0;
}

[[nodiscard]] bool would_block(std::int64_t result) noexcept {
    return result == -EAGAIN || result == -EWOULDBLOCK;
}

/// In a test that has asked for such faults: an errno by choice. 0: none.
[[nodiscard]] int chosen_error() noexcept {
    if (PILFER_TEST_IO_FAULT("an interrupted call")) {
        return EINTR;
    }
    if (PILFER_TEST_IO_FAULT("a call that would block")) {
        PILFER_TEST_POINT("waits for a descriptor", nullptr);
        return EINTR; // it is ready at once
    }
    return PILFER_TEST_IO_FAULT("a connection that is reset") ? ECONNRESET : 0;
}

/// As many bytes as a call shall transfer at most: 1 by choice, in such a test.
[[nodiscard]] std::size_t chosen_bytes(std::size_t bytes) noexcept {
    return bytes > 1 && PILFER_TEST_IO_FAULT("a short transfer") ? 1 : bytes;
}

/// A guest has the signal mask of its program; a worker blocks SIGPIPE.
[[nodiscard]] std::int64_t write_once(int fd, const void* from, std::size_t bytes) noexcept {
    detail::worker* const w = detail::this_worker();
    return w != nullptr && detail::scheduler::of(w).guest != nullptr ? os::write_some_quietly(fd, from, bytes)
                                                                     : os::write_some(fd, from, bytes);
}

/// Repeats `call` while it would block or was interrupted, unless the wait fails. Returns its result, or
/// -errno.
template <class Call>
[[nodiscard]] std::int64_t insist(int fd, std::uint32_t what, instant until, Call call) noexcept {
    PILFER_TEST_CANNOT_REPEAT(
        "input or output by pilfer::io"); // nor the order of such calls that do not wait
    for (;;) {
        const int error_by_choice = chosen_error();
        const std::int64_t result = error_by_choice == 0 ? call() : -error_by_choice;
        if (would_block(result)) {
            if (const int error = wait(fd, what, until); error != 0) {
                return -error;
            }
        } else if (result != -EINTR) {
            return result;
        }
    }
}

/// Locks the lists of one descriptor number in every pool: no entry enters or leaves them.
class held_everywhere {
public:
    explicit held_everywhere(int fd) noexcept {
        for (detail::pool_entry* e = m_pools.first(); e != nullptr; e = e->next) {
            detail::readiness* const io = e->pool->io->if_made();
            descriptors::slot* const s = io != nullptr && fd >= 0 ? io->waits.slot_if_made(fd) : nullptr;
            if (s != nullptr) {
                s->list.lock(); // the lock of all pools admits one such holder at a time
                s->held_too = m_slots;
                m_slots = s;
            }
        }
    }
    held_everywhere(const held_everywhere&) = delete;
    held_everywhere& operator=(const held_everywhere&) = delete;
    ~held_everywhere() {
        while (m_slots != nullptr) {
            descriptors::slot* const s = m_slots;
            m_slots = s->held_too;
            s->list.unlock();
        }
    }
    [[nodiscard]] descriptors::entry* forget() noexcept {
        descriptors::entry* all = nullptr;
        for (descriptors::slot* s = m_slots; s != nullptr; s = s->held_too) {
            all = descriptors::append(descriptors::forget_locked(*s), all);
        }
        return all;
    }

private:
    detail::registry::all_pools m_pools; // ends last: while it lives the slots do
    descriptors::slot* m_slots = nullptr;
};

} // namespace

std::error_code wait_readable(int fd, deadline until) noexcept {
    return error_of(wait(fd, os::can_read, until.when()));
}

std::error_code wait_writable(int fd, deadline until) noexcept {
    return error_of(wait(fd, os::can_write, until.when()));
}

transferred read(int fd, void* to, std::size_t bytes, deadline until) noexcept {
    const std::int64_t n = insist(fd, os::can_read, until.when(),
                                  [&]() noexcept { return os::read_some(fd, to, chosen_bytes(bytes)); });
    return n >= 0 ? transferred{static_cast<std::size_t>(n), {}}
                  : transferred{0, error_of(static_cast<int>(-n))};
}

transferred write(int fd, const void* from, std::size_t bytes, deadline until) noexcept {
    transferred t;
    const auto* at = static_cast<const std::byte*>(from);
    do {
        const std::int64_t n = insist(fd, os::can_write, until.when(), [&]() noexcept {
            return write_once(fd, at, chosen_bytes(bytes - t.bytes));
        });
        if (n < 0) {
            t.error = error_of(static_cast<int>(-n));
            break;
        }
        at += n;
        t.bytes += static_cast<std::size_t>(n);
    } while (t.bytes < bytes);
    return t;
}

accepted accept(int listener, deadline until) noexcept {
    for (;;) {
        const std::int64_t fd = insist(listener, os::can_read, until.when(), [&]() noexcept {
            return static_cast<std::int64_t>(os::accept_one(listener));
        });
        if (fd >= 0) {
            return {static_cast<int>(fd), {}};
        }
        if (fd != -ECONNABORTED) { // that connection is gone again: try the next
            return {-1, error_of(static_cast<int>(-fd))};
        }
    }
}

std::error_code connect(int fd, const sockaddr* to, unsigned bytes, deadline until) noexcept {
    PILFER_TEST_CANNOT_REPEAT("input or output by pilfer::io");
    int error = -os::connect_to(fd, to, bytes);
    if (error == EINPROGRESS || error == EINTR) {
        error = wait(fd, os::can_write, until.when());
        if (error == 0) {
            error = os::socket_error(fd);
        }
    }
    return error_of(error);
}

std::error_code make_nonblocking(int fd) noexcept { return error_of(os::make_nonblocking(fd)); }

std::size_t forget(int fd) noexcept {
    descriptors::entry* all = nullptr;
    {
        held_everywhere held(fd);
        all = held.forget();
    }
    std::size_t n = 0;
    for (const descriptors::entry* e = all; e != nullptr; e = e->next) {
        ++n;
    }
    detail::go_on_all(all);
    return n;
}

std::error_code close(int fd) noexcept {
    descriptors::entry* all = nullptr;
    int error = 0;
    {
        held_everywhere held(fd);
        all = held.forget();
        error = os::close_descriptor(fd); // a newcomer waits for these locks, and finds it closed
    }
    detail::go_on_all(all);
    return error_of(error);
}

} // namespace io
} // namespace v0
} // namespace pilfer
