// The data of a scope, and its calls for the templates of scope.hpp and for the scheduler.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

#include <pilfer/detail/base/outcome.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/detail/task/completion.hpp>
#include <pilfer/detail/task/runtime.hpp>
#include <pilfer/detail/wait/wait.hpp>
#include <pilfer/error.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/task_options.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// The data of a scope and its calls. The documentation of the public calls is at class `scope`.
class PILFER_API scope_core {
public:
    explicit scope_core(activation* owner) noexcept : m_link(owner->node.load(rlx)), m_owner(owner) {
        owner->node.store(reinterpret_cast<scope_node*>(owners_place_again()), rlx);
    }
    scope_core(const scope_core&) = delete;
    scope_core& operator=(const scope_core&) = delete;
    ~scope_core() {
        activation* owner = m_owner.load(rlx);
        // One branch for both questions: has any child to be waited for, and is this the task's innermost
        // one?
        const auto node = reinterpret_cast<std::uintptr_t>(owner->node.load(rlx));
        if ((outstanding() | (node ^ owners_place_again())) != 0) [[unlikely]] {
            again().destroy_cold();
            return;
        }
        children_have_ended();
        owner->node.store(m_link.parent(), rlx);
        check_end();
    }
    /// The function as it is, or for `pilfer race` as a strand of this scope.
    template <class F>
    [[nodiscard]] PILFER_ALWAYS_INLINE decltype(auto) announced(F&& f) {
        detail::refuse_coroutines<std::decay_t<F>>();
#if defined(PILFER_RACE)
        return race::announced<std::decay_t<F>>(m_block, std::forward<F>(f));
#else
        return std::forward<F>(f);
#endif
    }
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(F&& f);
    template <class F>
    PILFER_ALWAYS_INLINE void spawn(const task_options& o, F&& f);
    template <class F>
    PILFER_ALWAYS_INLINE void fork(F&& f);
    template <class F>
    void fork(const task_options& o, F&& f);
    PILFER_ALWAYS_INLINE void sync() {
        worker* w = this_worker();
        // The owner is asked for first: the counts are plain words of the owner.
        if (w == nullptr || !std_atom::is(m_owner, w->current.load(rlx))) [[unlikely]] {
            again().sync_cold();
        } else if (quiet()) {
            children_have_ended();
        } else {
            again().sync_children(w);
        }
    }
    void cancel() noexcept;

    [[nodiscard]] static bool checked_home(resume where);
    void leave() noexcept;
    void settle_at_end() noexcept;
    void destroy_cold() noexcept;
    void sync_cold();
    [[nodiscard]] std::uint32_t end_of_round() noexcept;
    void wait_and_rethrow(worker* home);
    void rethrow_first();
    [[nodiscard]] bool sync_within(std::uint64_t until);
    [[nodiscard]] bool wait_until(std::uint64_t until) noexcept;
    void sync_children(worker* w);
    void wait_for_children(worker* home) noexcept;
    void resume_on_origin(worker* home) noexcept;
    void block_for_children() noexcept;
    [[nodiscard]] bool run_newest_child(worker* w) noexcept;
    void run_taken(spark* d);
    [[nodiscard]] bool reclaim_child(worker* w, task_word entry) noexcept;
    [[nodiscard]] spark* child_at(task_word entry) const noexcept;
    [[nodiscard]] std::atomic<std::uint32_t>& cancel_state() noexcept { return m_link.head().cancel_state; }
    [[nodiscard]] const std::atomic<std::uint32_t>& cancel_state() const noexcept {
        return m_link.head().cancel_state;
    }
    /// 0: no child is to be waited for.
    [[nodiscard]] std::uint64_t outstanding() const noexcept {
        return static_cast<std::uint64_t>(m_children.pending()) | cancel_state().load(rlx);
    }
    [[nodiscard]] bool quiet() const noexcept { return outstanding() == 0; }
    PILFER_ALWAYS_INLINE void children_have_ended() noexcept {
        san::acquire(&m_children);
#if defined(PILFER_RACE)
        race::join(m_block);
#endif
    }
    void check_end() const noexcept {
        ensure([this] { return m_children.at_rest(); }, "a scope ended while children of it were left");
        ensure([this] { return this_activation() == owner(); },
               "a scope was destroyed by a task that does not own it");
    }
    void announce_from_below() noexcept {
        cancel_state().fetch_or(cancel_flag::from_below, rlx);
        m_children.announce_from_below();
    }
    /// Children that have not started never start: one has thrown, or they are stopped.
    [[nodiscard]] bool drops() const noexcept { return (cancel_state().load(rlx) & cancel_flag::drops) != 0; }
    /// True if the running task owns this scope and unwinds, and the scope has begun since then. Then tasks
    /// below are not stopped from further out. Called before anything is announced there.
    PILFER_NOINLINE bool is_cleanup(const worker* w) noexcept;
    /// Called before the owner waits: children that are stopped do not start.
    void look_for_children(worker* w) noexcept;
    /// Drops a child. Throws stopped if the caller is stopped, too.
    void drop_or_leave(worker* w);
    [[noreturn]] void not_owner(const char* call) const;
    /// Notes the error, and cancels nothing; returns the word `cancel_state` as it was before.
    std::uint32_t note_failure(std::exception_ptr error) noexcept;
    void forget_children() noexcept;
    /// In a handler: notes the exception and cancels the scope, unless the exception is a `stopped`. The
    /// frame that calls a child holds no object of it.
    PILFER_COLD void fail() noexcept;
    /// The owner is a thread that is no worker.
    [[nodiscard]] bool outside() const noexcept { return owner()->ctx == nullptr; }
    /// Caller on the owner's own stack: plain counting will do.
    [[nodiscard]] bool on_own_stack(const worker* w) const noexcept {
        return w->current.load(rlx)->ctx == owner()->ctx;
    }
    [[nodiscard]] activation* owner() const noexcept { return m_owner.load(rlx); }
    [[nodiscard]] task_word entry() noexcept { return reinterpret_cast<task_word>(this) | kind_continuation; }
    /// For calls off the fast path: see address_again().
    [[nodiscard]] PILFER_ALWAYS_INLINE scope_core& again() noexcept {
        return *reinterpret_cast<scope_core*>(address_again(*this));
    }
    /// scope_node::as_owner(&m_link), computed by one instruction.
    [[nodiscard]] PILFER_ALWAYS_INLINE std::uintptr_t owners_place_again() noexcept {
        return address_again(reinterpret_cast<char*>(&m_link)[1]);
    }
    /// entry() after a call: computed anew rather than kept in a register.
    [[nodiscard]] PILFER_ALWAYS_INLINE task_word entry_again() noexcept {
        scope_core* self = this;
        asm("" : "+r"(self));
        return reinterpret_cast<task_word>(self) | kind_continuation;
    }
    template <class F>
    PILFER_COLD void spawn_cold(F&& f);
    template <class F>
    PILFER_COLD void submit_child(F&& f);
    /// False: the child was dropped.
    [[nodiscard]] bool takes_submission();
    /// Takes `child`, and destroys it if it throws.
    void submit_made(submission* child, void (*destroy)(submission*) noexcept);
    template <class F>
    PILFER_NOINLINE void fork_below(F&& f);
    template <class F, class Announce>
    PILFER_ALWAYS_INLINE void fork_from_anywhere(F&& f, Announce announce);
    template <class Child>
    PILFER_COLD void fork_signalled(worker* w, Child* c, bool own);
    template <class Child>
    void run_unannounced(Child* c, bool own);
    template <class Child, class F>
    [[nodiscard]] PILFER_ALWAYS_INLINE Child* make_forked(worker* w, F&& f);

    scope_node m_link; // first: an entry of kind_continuation is the address of the scope
    child_counter<std_atom> m_children;
    std::atomic<activation*> m_owner; // changes only with a coroutine, while there are no children
    // Nothing below is initialised: the usual scope never uses it.
    std::uintptr_t m_waiter; // set before the counter is published
    std::uint32_t m_suppressed;
    union {
        std::exception_ptr m_error; // alive while there are failures
    };
#if defined(PILFER_RACE)
    race::block m_block;
#endif
};

} // namespace detail
} // namespace v0
} // namespace pilfer
