// The inline half of a worker's free lists: contexts and records for the next tasks.
#pragma once

#include <cstdint>

#include <pilfer/detail/context/context.hpp>
#include <pilfer/detail/memory/record.hpp>
#include <pilfer/detail/task/worker.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Fills the worker's own list, which is empty, and returns its head; 0: no context is available.
PILFER_API std::uintptr_t refill_contexts(worker* w) noexcept;
PILFER_API void put_context_cold(worker* w, context* c) noexcept;

/// Null: no context is available; run the child as a plain call.
[[nodiscard]] PILFER_ALWAYS_INLINE context* take_context(worker* w) noexcept {
    std::uintptr_t head = w->free_contexts.load(rlx);
    if (head == 0) [[unlikely]] {
        head = refill_contexts(w);
        if (head == 0) {
            return nullptr;
        }
    }
    context* const c = ranked<context>::node(head);
    if (c == nullptr) {
        __builtin_unreachable(); // a link is more than its rank: the caller asks for null once
    }
    san::acquire(c);
    w->free_contexts.store(c->next.load(rlx), rlx);
    c->change(context_state::cached, context_state::running);
    return c;
}

PILFER_ALWAYS_INLINE void put_context(worker* w, context* c) noexcept {
    PILFER_CHAOS_POINT(contexts);
    // A child of spawn does not set this word: on this stack it would count on from what is left here.
    ensure([c] { return !c->self.holds_lock(); }, "a task ended that holds a lock of the library");
    // In the usual case the list is as it was when this context was taken from it. The comparison includes
    // the rank of the first one: otherwise a list that grew below it would never be cut.
    c->change(context_state::running, context_state::cached);
    const std::uintptr_t head = w->free_contexts.load(rlx);
    const bool as_taken = c->next.load(rlx) == head;
    const std::uintptr_t link = c->link.load(rlx);
    san::release(c); // after the last look at it: its pages may be given back and the record made anew
    if (as_taken) [[likely]] {
        w->free_contexts.store(link, rlx);
    } else {
        put_context_cold(w, c);
    }
    san::release(w->pool); // the end of the pool comes after every context's last task
}

PILFER_API void* take_record_cold(worker* w, unsigned size_class);
PILFER_API void put_record_cold(worker* w, unsigned size_class, free_record* r) noexcept;

[[nodiscard]] PILFER_ALWAYS_INLINE void* take_record(worker* w, unsigned size_class) {
    free_record* r = w->free_records[size_class].load(rlx);
    if (r == nullptr) [[unlikely]] {
        return take_record_cold(w, size_class);
    }
    san::acquire(r);
    w->free_records[size_class].store(r->next.load(rlx), rlx);
    return r + 1;
}
PILFER_ALWAYS_INLINE void put_record(worker* w, unsigned size_class, void* payload) noexcept {
    free_record* r = static_cast<free_record*>(payload) - 1;
    free_record* head = w->free_records[size_class].load(rlx);
    san::acquire(head);
    san::release(r);
    // Usually the list is as it was when this record was taken. Its rank is compared too: otherwise a list
    // that grew below it would keep the small rank and never be cut.
    if (head != nullptr && r->next.load(rlx) == head && r->rank.load(rlx) == head->rank.load(rlx) + 1)
        [[likely]] {
        w->free_records[size_class].store(r, rlx);
    } else {
        put_record_cold(w, size_class, r);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
