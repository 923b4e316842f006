// Futures and promises for C.
#include <pilfer/future.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>

#include <pilfer/named.hpp>
#include <pilfer/pilfer.h>

#include "capi/call.hpp"
#include "capi/error.hpp"
#include "capi/task.hpp"

namespace pilfer {
inline namespace v0 {
namespace capi {
namespace {

using c_nanoseconds = std::chrono::duration<std::uint64_t, std::nano>;

[[nodiscard]] result_core& of(pilfer_future* f) noexcept { return *reinterpret_cast<result_core*>(f); }
[[nodiscard]] const result_core& of(const pilfer_future* f) noexcept {
    return *reinterpret_cast<const result_core*>(f);
}
/// `made` may be any kind of future: the handle is that of the base, to which of() converts it back.
[[nodiscard]] pilfer_future* handle_of(result_core* made) noexcept {
    return reinterpret_cast<pilfer_future*>(made);
}

/// The arguments of an async.
struct value_call {
    void* (*function)(void*);
    void* argument;
    [[nodiscard]] void* operator()() const noexcept { return capi::call(function, argument); }
};

/// Starts f(arg) as a task of `p`; null: of the caller's pool, or the common one.
int make_task(pilfer_pool* p, const pilfer_task_options* options, void* (*f)(void*), void* arg,
              pilfer_future** out) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (f == nullptr) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] {
        const detail::worker* w = detail::this_worker();
        detail::pool_core& core = p != nullptr   ? reinterpret_cast<pool*>(p)->core()
                                  : w != nullptr ? *w->pool
                                                 : detail::common_core();
        const task_options o = capi::options_of(options);
        detail::check(o);
        *out = detail::with_name(o, value_call{f, arg}, [&](auto&& function) {
            auto* made =
                new capi::task<std::decay_t<decltype(function)>>(std::forward<decltype(function)>(function));
            try {
                made->start(core, o);
            } catch (...) { // pool_closed, queue_full
                made->release();
                throw;
            }
            return capi::handle_of(made);
        });
    });
}

/// For `then`: called with the value; not called if there is none.
struct with_value {
    void* (*function)(void*, void*);
    void* argument;
    void run(result_core& source, void*& result, int& error) const noexcept {
        error = source.error();
        if (error == 0) {
            result = capi::call(function, source.result(), argument);
        }
    }
};
/// For `continue_with`: called with the future, which the task keeps until the function has returned.
struct with_future {
    void* (*function)(pilfer_future*, void*);
    void* argument;
    void run(result_core& source, void*& result, int&) const noexcept {
        result = capi::call(function, capi::handle_of(&source), argument);
    }
};

/// A task that follows another future, to which it holds a reference until it has run. As
/// detail::following_task.
template <class Function>
class following final : public result_core {
public:
    following(result_core& source, Function f) noexcept
        : result_core(detail::future_source::follower, 2), m_function(f), m_source(source), m_place(*this) {
        source.retain();
    }
    void start(detail::pool_core* p) { this->start_behind(m_source, p, m_place); }

private:
    ~following() override {
        if (!is_done()) { // it never waited for any future
            m_source.release();
        }
    }
    void execute() noexcept override {
        m_source.wait(); // it is done: records the task that waited and the one that it waited for
        m_function.run(m_source, m_result, m_error);
        m_source.release();
    }
    void break_promise() noexcept override { fail(PILFER_EBROKEN); }
    void refuse() noexcept override { fail(PILFER_ECLOSED); }
    void fail(int code) noexcept {
        m_error = code;
        m_source.release();
    }

    Function m_function;
    result_core& m_source;
    detail::future_follower m_place;
};

template <class Function>
int follow(pilfer_pool* p, pilfer_future* future, Function f, pilfer_future** out) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (future == nullptr || f.function == nullptr) {
        return PILFER_EINVAL;
    }
    return capi::guarded([&] {
        auto* made = new following<Function>(of(future), f);
        try {
            made->start(p != nullptr ? &reinterpret_cast<pool*>(p)->core() : nullptr);
        } catch (...) { // no common pool; the other reference has been given back
            made->release();
            throw;
        }
        *out = capi::handle_of(made);
    });
}

/// The state of a promise, with the promise's reference.
class promise_core final : public result_core {
public:
    promise_core() noexcept : result_core(detail::future_source::promise, 1) {}
    /// False: another thread has set it, or is about to.
    [[nodiscard]] bool set(void* value, int code) noexcept {
        if (!begin()) {
            return false;
        }
        m_result = value;
        m_error = code;
        end();
        return true;
    }

private:
    ~promise_core() override = default;
    void execute() noexcept override {}
    void break_promise() noexcept override {}
};

[[nodiscard]] promise_core& of(pilfer_promise* p) noexcept { return *reinterpret_cast<promise_core*>(p); }

int set(pilfer_promise* p, void* value, int code) noexcept {
    if (p == nullptr) {
        return PILFER_EINVAL;
    }
    promise_core& core = of(p);
    core.retain(); // a waiter that sees the result may free the promise before end() has returned
    const bool first = core.set(value, code);
    core.release();
    return first ? 0 : PILFER_EUSAGE;
}

/// The state of a when_all or when_any. The ends of the inputs call its places. It needs no references to the
/// inputs. A thread that ends an input keeps that input meanwhile, and an input that can no longer be set
/// ends as broken.
class several : public result_core {
protected:
    struct place : detail::future_listener {
        explicit place(fire_function f) noexcept : future_listener(f) {}
        several* owner = nullptr;
        pilfer_future* input = nullptr;
    };
    using result_core::result_core;
    ~several() override = default;

private:
    void execute() noexcept override {}
    void break_promise() noexcept override {}
};

/// The state of when_all, as detail::all_state, without the inputs.
class all_core final : public several {
    struct all_place : place {
        all_place() noexcept
            : place([](detail::future_listener& self) noexcept {
                  return static_cast<all_core*>(static_cast<all_place&>(self).owner)->arrive();
              }) {}
    };

public:
    explicit all_core(std::size_t n)
        : several(detail::future_source::combination, 2), m_left(n + 1), m_places(new all_place[n]) {}
    void attach(pilfer_future* const* inputs, std::size_t n) noexcept {
        for (std::size_t i = 0; i < n; ++i) {
            m_places[i].owner = this;
            of(inputs[i]).listen(m_places[i]);
        }
        if (arrive() != nullptr) {
            end();
            release();
        }
    }

private:
    ~all_core() override = default;
    [[nodiscard]] detail::future_core* arrive() noexcept {
        // Each fetch_sub releases, the last one acquires: the result of every input is seen after this one's.
        if (m_left.fetch_sub(1, detail::acq_rel) != 1) {
            return nullptr;
        }
        (void)begin(); // no other thread can
        return this;
    }

    std::atomic<std::size_t> m_left;
    std::unique_ptr<all_place[]> m_places;
};

/// The state of when_any, as detail::any_state, without the inputs. Inputs that end later still refer to it,
/// so each keeps it alive.
class any_core final : public several {
    struct any_place : place {
        any_place() noexcept
            : place([](detail::future_listener& self) noexcept {
                  auto& at = static_cast<any_place&>(self);
                  return static_cast<any_core*>(at.owner)->arrive(at.input);
              }) {}
    };

public:
    explicit any_core(std::size_t n)
        : several(detail::future_source::combination, 1), m_places(new any_place[n]) {}
    void attach(pilfer_future* const* inputs, std::size_t n) noexcept {
        for (std::size_t i = 0; i < n && !m_over.load(detail::rlx); ++i) {
            m_places[i].owner = this;
            m_places[i].input = inputs[i];
            retain();
            of(inputs[i]).listen(m_places[i]);
        }
        if (n == 0) {
            (void)begin();
            end();
        }
    }

private:
    ~any_core() override = default;
    [[nodiscard]] detail::future_core* arrive(pilfer_future* input) noexcept {
        if (!begin()) {
            release();
            return nullptr;
        }
        m_over.store(true, detail::rlx); // only spares the rest of attach() its work
        m_result = input;
        return this;
    }

    std::atomic<bool> m_over{false};
    std::unique_ptr<any_place[]> m_places;
};

template <class Several>
int combine(pilfer_future* const* futures, std::size_t n, pilfer_future** out) noexcept {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    if (futures == nullptr && n != 0) {
        return PILFER_EINVAL;
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (futures[i] == nullptr) {
            return PILFER_EINVAL;
        }
    }
    return capi::guarded([&] {
        auto* made = new Several(n);
        made->attach(futures, n);
        *out = capi::handle_of(made);
    });
}

} // namespace
} // namespace capi
} // namespace v0
} // namespace pilfer

using namespace pilfer::capi;

extern "C" {

int pilfer_async(pilfer_pool* pool, void* (*f)(void*), void* arg, pilfer_future** out) {
    return make_task(pool, nullptr, f, arg, out);
}

int pilfer_async_with(pilfer_pool* pool, const pilfer_task_options* options, void* (*f)(void*), void* arg,
                      pilfer_future** out) {
    return make_task(pool, options, f, arg, out);
}

int pilfer_future_get(pilfer_future* future, void** result) {
    const int code = pilfer_future_wait(future);
    if (code == 0 && result != nullptr) {
        *result = of(future).result();
    }
    return code;
}

int pilfer_future_wait(pilfer_future* future) {
    if (future == nullptr) {
        return PILFER_EINVAL;
    }
    if (const int code = guarded([&] { of(future).wait(); }); code != 0) {
        return code;
    }
    return of(future).error();
}

int pilfer_future_wait_for(pilfer_future* future, uint64_t ns) {
    if (future == nullptr) {
        return PILFER_EINVAL;
    }
    bool ready = false;
    const int code =
        guarded([&] { ready = of(future).wait_until(pilfer::detail::after(c_nanoseconds(ns))); });
    if (code != 0) {
        return code;
    }
    return ready ? of(future).error() : PILFER_ETIMEDOUT;
}

int pilfer_future_ready(const pilfer_future* future) {
    if (future == nullptr) {
        return PILFER_EINVAL;
    }
    return of(future).is_done() ? 1 : 0;
}

pilfer_future* pilfer_future_copy(pilfer_future* future) {
    if (future != nullptr) {
        of(future).retain();
    }
    return future;
}

void pilfer_future_free(pilfer_future* future) {
    if (future != nullptr) {
        of(future).release();
    }
}

int pilfer_future_then(pilfer_future* future, void* (*f)(void*, void*), void* arg, pilfer_future** out) {
    return follow(nullptr, future, with_value{f, arg}, out);
}

int pilfer_future_then_in(pilfer_pool* pool, pilfer_future* future, void* (*f)(void*, void*), void* arg,
                          pilfer_future** out) {
    return follow(pool, future, with_value{f, arg}, out);
}

int pilfer_future_continue_with_in(pilfer_pool* pool, pilfer_future* future,
                                   void* (*f)(pilfer_future*, void*), void* arg, pilfer_future** out) {
    return follow(pool, future, with_future{f, arg}, out);
}

int pilfer_future_continue_with(pilfer_future* future, void* (*f)(pilfer_future*, void*), void* arg,
                                pilfer_future** out) {
    return follow(nullptr, future, with_future{f, arg}, out);
}

int pilfer_when_all(pilfer_future* const* futures, size_t n, pilfer_future** out) {
    return combine<all_core>(futures, n, out);
}

int pilfer_when_any(pilfer_future* const* futures, size_t n, pilfer_future** out) {
    return combine<any_core>(futures, n, out);
}

int pilfer_promise_new(pilfer_promise** out) {
    if (out == nullptr) {
        return PILFER_EINVAL;
    }
    *out = nullptr;
    return guarded([&] { *out = reinterpret_cast<pilfer_promise*>(new promise_core); });
}

int pilfer_promise_set_value(pilfer_promise* promise, void* value) { return set(promise, value, 0); }

int pilfer_promise_set_error(pilfer_promise* promise, int code) {
    return code < 0 ? set(promise, nullptr, code) : PILFER_EINVAL;
}

pilfer_future* pilfer_promise_future(pilfer_promise* promise) {
    if (promise == nullptr) {
        return nullptr;
    }
    of(promise).retain();
    return handle_of(&of(promise));
}

void pilfer_promise_free(pilfer_promise* promise) {
    if (promise != nullptr) {
        (void)of(promise).set(nullptr, PILFER_EBROKEN);
        of(promise).release();
    }
}

} // extern "C"
