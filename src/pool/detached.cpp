// Detached tasks, whose end is not awaited, and the exceptions that they throw.
#include <pilfer/detail/pool/detached.hpp>
#include <pilfer/detail/task/nested.hpp>

#include <exception>
#include <stdexcept>

#include "base/write.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {

const char* current_task_name() noexcept {
    const detail::worker* w = detail::this_worker();
    const detail::activation* a = w != nullptr ? w->current.load(detail::rlx) : nullptr;
    return a != nullptr ? a->ctx->name.load(detail::rlx) : nullptr;
}

namespace detail {

std::string checked_name(std::string_view name) {
    constexpr std::size_t most = 255;
    bool printable = true;
    for (const char c : name) {
        printable = printable && static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
    }
    if (name.empty() || name.size() > most || !printable) {
        throw std::invalid_argument("pilfer: the name of a task or object must be from 1 to 255 bytes long, "
                                    "without control characters");
    }
    return std::string(name);
}

name_frame::name_frame(const char* name) noexcept {
    const worker* w = this_worker();
    const activation* a = w != nullptr ? w->current.load(rlx) : nullptr;
    m_context = a != nullptr ? a->ctx : nullptr;
    if (m_context != nullptr) {
        m_outer = m_context->name.load(rlx);
        m_context->name.store(name, rlx); // a snapshot reads it after observe.I2
    }
}

name_frame::~name_frame() {
    if (m_context != nullptr) {
        m_context->name.store(m_outer, rlx);
    }
}

void nobody_waits_for(worker* w, std::exception_ptr error) noexcept {
    // An exception that leaves the function, too, ends the program: this is noexcept.
    if (const auto& answer = w->pool->settings().on_error) {
        answer(std::move(error));
        return;
    }
    os::write_error("pilfer: a task that nobody waits for");
    if (const char* const name = current_task_name()) {
        os::write_error(", \"");
        os::write_error(name);
        os::write_error("\",");
    }
    os::write_error(" has thrown (see options.on_error): ");
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        os::write_error(e.what());
    } catch (...) {
        os::write_error("something that is no std::exception");
    }
    os::write_error("\n");
    std::terminate();
}

detached_task::detached_task() noexcept { run = &detached_task::run_task; }

void detached_task::start(pool_core& p) { start(p, task_options{}); }

void detached_task::start(pool_core& p, const task_options& o) {
    if (o.priority != priority::automatic) {
        submit(p, this, o.priority);
        return;
    }
    worker* w = this_worker();
    if (w == nullptr || w->pool != &p) {
        submit(p, this);
        return;
    }
    p.check_here();
    begin_outstanding(w);
    if (!announce_weighted(w, reinterpret_cast<task_word>(static_cast<spark*>(this)) | kind_spark, o.weight,
                           way::keep)) {
        nested_activation child(this_worker(), nullptr); // in no scope
        (void)run_task(this, this_worker());
    }
}

suspension* detached_task::run_task(spark* self, worker* w) noexcept {
    auto* t = static_cast<detached_task*>(static_cast<submission*>(self));
    if (dropping(w)) {
        count_dropped(w);
    } else {
        note_suppressed(0); // of an earlier task on this thread
        try {
            t->execute();
        } catch (...) {
            nobody_waits_for(this_worker(), caught_error());
        }
    }
    delete t; // runs user code, which the pool waits for
    end_outstanding(this_worker());
    return nullptr;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
