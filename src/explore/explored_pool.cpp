#include "explore/explored_pool.hpp"

#if defined(PILFER_TEST)

#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/pool.hpp>

#include "backend/make.hpp"
#include "base/write.hpp"
#include "explore/exploring.hpp"
#include "explore/recorder.hpp"
#include "platform/os.hpp"
#include "platform/ticks.hpp"
#include "pool/pool_core.hpp"
#include "search/recorded.hpp"
#include "task/own_child.hpp"
#include "task/recorded_limit.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

std::atomic<const test_hooks*> test_points{nullptr};

interleaving* explored_here() noexcept {
    worker* const w = this_worker();
    return w != nullptr && w->explores ? &static_cast<exploring&>(backend_of(w)).now() : nullptr;
}

interleaving* explored_task() noexcept {
    interleaving* const x = explored_here();
    const worker* const w = this_worker();
    return x != nullptr && w->current.load(rlx) != nullptr && !w->pool->is_forked_child() ? x : nullptr;
}

spark* take_own_child(worker* w, scope_node* scope) noexcept {
    return static_cast<exploring&>(backend_of(w)).now().take_own_child(scope);
}

bool waits_as_recorded(limited_wait& wait) noexcept {
    interleaving* const x = explored_task();
    return x != nullptr && x->wait_as_recorded(wait);
}

bool time_is_over_as_recorded(bool is_over) noexcept {
    if (interleaving* const x = explored_task()) {
        return x->time_is_over(is_over);
    }
    const test_identity* const self = is_over ? recorded_in_operation() : nullptr;
    if (self != nullptr) {
        running_recorder.load(acq)->operation(self->name(), limit_is_over.data());
    }
    return is_over;
}

namespace {

bool point_of_task(const char* what, const void* object, bool changes) noexcept {
    interleaving* const x = explored_task();
    if (x == nullptr) {
        return false;
    }
    test_identity& self = this_activation()->ctx->test;
    self.set_steps(self.steps() + 1);
    if (x->follows()) {
        x->follow(what, object);
    } else if (changes) {
        x->point(what, object);
    }
    return true;
}

void end_of_step() noexcept {
    test_identity& self = this_activation()->ctx->test;
    self.set_steps(self.steps() - 1);
}

void no_matter(const char*) noexcept {}

bool fault_of_task(fault_kind kind, const char* what, const void* object) noexcept {
    interleaving* const x = explored_task();
    return x != nullptr && x->fault(kind, what, object);
}

bool wait_of_task(const void* object) noexcept {
    interleaving* const x = explored_task();
    if (x != nullptr) {
        x->wait_for(object);
    }
    return x != nullptr;
}

void notify_of_task(const void* object, bool all) noexcept {
    if (interleaving* const x = explored_task()) {
        x->notify(object, all);
    }
}

[[nodiscard]] constexpr test_hooks hooks_of(bool fixed_loops) noexcept {
    return {&point_of_task, &end_of_step,    &no_matter, &fault_of_task,
            &wait_of_task,  &notify_of_task, fixed_loops};
}
constexpr test_hooks hooks = hooks_of(false);
constexpr test_hooks hooks_of_recording = hooks_of(true);

// ---- the clock of an explored pool ------------------------------------------------------------

std::uint64_t time_here() noexcept {
    if (const interleaving* const x = explored_here()) {
        return x->clock();
    }
    return os::kernel_now_ns();
}

std::uint64_t ticks_here() noexcept {
    interleaving* const x = explored_here();
    return x != nullptr ? x->ticks() : os::ticks();
}

constexpr os::time_source explored_time{&time_here, nullptr, &ticks_here};

char running_schedule[longest_text + 128];

constinit thread_local exploration* explored_by_next = nullptr;

[[nodiscard]] std::unique_ptr<pool> make_pool(exploration& x, std::size_t stack) {
    options o;
    o.stack_size = stack;
    o.workers = 1;
    o.only_workers = true;
    o.backend = pilfer::backend::work_stealing;
    o.resume = resume::anywhere;
    o.name = "explored";
    o.debug.stall_report = 0;
    o.on_error = [](std::exception_ptr error) {
        if (interleaving* const here = explored_here()) {
            here->nobody_waits_for(std::move(error));
        }
    };
    struct maker {
        explicit maker(exploration& x) noexcept {
            explored_by_next = &x;
            test_backend = [](team& t, pool_core& p) -> std::unique_ptr<detail::backend> {
                return std::make_unique<exploring>(t, p, *explored_by_next);
            };
        }
        maker(const maker&) = delete;
        maker& operator=(const maker&) = delete;
        ~maker() { test_backend = nullptr; }
    } const here(x);
    return std::make_unique<pool>(o);
}

} // namespace

exploring_process::exploring_process(bool follows) noexcept : m_time(os::current_time_source()) {
    os::set_time_source(&explored_time);
    test_points.store(follows ? &hooks_of_recording : &hooks, std::memory_order_relaxed);
    os::write_at_abort(running_schedule);
}

exploring_process::~exploring_process() {
    os::write_at_abort(nullptr);
    test_points.store(nullptr, std::memory_order_relaxed);
    os::set_time_source(m_time);
}

void say_at_abort(const char* format, const char* name, unsigned long long number) noexcept {
    std::snprintf(running_schedule, sizeof running_schedule, format, name, number);
}

void explore_in_a_pool(exploration& x, std::size_t stack) {
    std::unique_ptr<pool> p = make_pool(x, stack);
    pool_core& core = p->core();
    const run_report& r = static_cast<exploring&>(core.backend()).explore();
    if (!r.abandoned) {
        return;
    }
    // Its tasks wait for ever, and what they wait for may end: no report must look at them.
    if (!r.holds_thread) {
        os::thread_join(core.at(0).thread);
    }
    registry::remove(core);
    core.abandon();
    static auto* const left_behind = new std::vector<pool*>; // for tools that look for lost memory
    left_behind->push_back(p.release());
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
