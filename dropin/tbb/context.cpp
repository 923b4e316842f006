// Contexts: the tree of groups of tasks, cancellation, exceptions and settings of floating point.
#include "scheduler.hpp"

namespace tbb::detail::r1 {

namespace {

// Guards all exceptions: several threads may wait on one context, and one of them may reset it. Only threads
// that meet an exception take it.
short_lock exceptions;

// Of the lists below. Spreading holds it, and so does the removal of a context that has children.
short_lock tree;
std::atomic<bool> spreading{false};
std::atomic<context_list*> all_lists{nullptr};
context_list* free_lists = nullptr; // under `tree`

} // namespace

// --- settings of floating point ----------------------------------------------------------------------------

#if defined(__x86_64__)
std::uint64_t read_floating_point() noexcept {
    std::uint32_t sse = 0;
    std::uint16_t x87 = 0;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(sse), "=m"(x87));
    return (std::uint64_t{x87} << 32) |
           (sse & ~std::uint32_t{0x3f}); // without the flags of what has happened
}
void write_floating_point(std::uint64_t settings) noexcept {
    const auto sse = static_cast<std::uint32_t>(settings);
    const auto x87 = static_cast<std::uint16_t>(settings >> 32);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(sse), "m"(x87));
}
#elif defined(__aarch64__)
std::uint64_t read_floating_point() noexcept {
    std::uint64_t settings = 0;
    asm volatile("mrs %0, fpcr" : "=r"(settings));
    return settings | (std::uint64_t{1} << 63); // 0 would be none
}
void write_floating_point(std::uint64_t settings) noexcept {
    asm volatile("msr fpcr, %0" : : "r"(settings & ~(std::uint64_t{1} << 63)));
}
#else
#error "libpilfer-tbb knows the floating-point settings of x86-64 and AArch64 only"
#endif

// --- lists -------------------------------------------------------------------------------------------------

context_list& context_list::adopt() {
    {
        const guard held(tree);
        if (context_list* l = free_lists) {
            free_lists = l->m_next_free;
            return *l;
        }
    }
    auto* l = new context_list;
    l->m_head.my_prev_node = l->m_head.my_next_node = &l->m_head;
    const guard held(tree);
    l->m_next_of_all = all_lists.load(std::memory_order_relaxed);
    all_lists.store(l, std::memory_order_relaxed);
    return *l;
}

void context_list::abandon() noexcept {
    const guard held(tree);
    m_next_free = free_lists;
    free_lists = this;
}

void context_list::add(d1::task_group_context& c) noexcept {
    task_group_context_impl::insert(c, m_head, m_lock);
}
void context_list::remove(d1::task_group_context& c) noexcept { task_group_context_impl::erase(c, m_lock); }

template <class F>
void context_list::for_each_bound(F f) noexcept {
    for (context_list* l = all_lists.load(std::memory_order_relaxed); l != nullptr; l = l->m_next_of_all) {
        const guard held(l->m_lock);
        for (d1::intrusive_list_node* n = l->m_head.my_next_node; n != &l->m_head; n = n->my_next_node) {
            f(task_group_context_impl::of(*n));
        }
    }
}

void context_list::forget_all_threads() noexcept {
    (void)tree.open_for_good();
    (void)exceptions.open_for_good();
    spreading.store(false, std::memory_order_relaxed);
    for (context_list* l = all_lists.load(std::memory_order_relaxed); l != nullptr; l = l->m_next_of_all) {
        (void)l->m_lock.open_for_good();
    }
}

// --- contexts ----------------------------------------------------------------------------------------------

std::atomic_ref<std::uint32_t> task_group_context_impl::children_of(d1::task_group_context& c) noexcept {
    static_assert(sizeof(c.padding) >= sizeof(std::uint32_t));
    return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(c.padding));
}

d1::task_group_context& task_group_context_impl::of(d1::intrusive_list_node& n) noexcept {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // no standard layout, but no virtual base either
    constexpr std::size_t offset = __builtin_offsetof(d1::task_group_context, my_node);
#pragma GCC diagnostic pop
    return *reinterpret_cast<d1::task_group_context*>(reinterpret_cast<char*>(&n) - offset);
}

void task_group_context_impl::insert(d1::task_group_context& c, d1::intrusive_list_node& head,
                                     short_lock& lock) noexcept {
    const guard held(lock);
    d1::intrusive_list_node& n = c.my_node;
    n.my_prev_node = &head;
    n.my_next_node = head.my_next_node;
    head.my_next_node->my_prev_node = &n;
    head.my_next_node = &n;
}

void task_group_context_impl::erase(d1::task_group_context& c, short_lock& lock) noexcept {
    const guard held(lock);
    d1::intrusive_list_node& n = c.my_node;
    n.my_prev_node->my_next_node = n.my_next_node;
    n.my_next_node->my_prev_node = n.my_prev_node;
    // Under the lock, so a parent that ends meanwhile waits for this in destroy().
    if (c.my_parent != nullptr) {
        (void)children_of(*c.my_parent).fetch_sub(1, std::memory_order_release);
    }
}

void task_group_context_impl::initialize(d1::task_group_context& c) noexcept {
    c.my_cpu_ctl_env = 0;
    c.my_cancellation_requested.store(0, std::memory_order_relaxed);
    c.my_may_have_children.store(0, std::memory_order_relaxed);
    c.my_parent = nullptr;
    c.my_context_list = nullptr;
    c.my_node.my_prev_node = c.my_node.my_next_node = &c.my_node;
    c.my_exception.store(nullptr, std::memory_order_relaxed);
    c.my_itt_caller = nullptr;
    children_of(c).store(0, std::memory_order_relaxed);
    if (c.my_traits.fp_settings) {
        c.my_cpu_ctl_env = read_floating_point();
    }
    c.my_state.store(d1::task_group_context::state::created, std::memory_order_release);
}

void task_group_context_impl::bind_slowly(d1::task_group_context& c, thread_data& t) {
    using state = d1::task_group_context::state;
    state seen = state::created;
    if (!c.my_state.compare_exchange_strong(seen, state::locked, std::memory_order_acquire)) {
        for (unsigned round = 0; seen == state::locked; ++round) {
            pilfer::detail::backoff(round);
            seen = c.my_state.load(std::memory_order_acquire);
        }
        return;
    }
    d1::task_group_context* parent = t.context;
    if (parent == &c || (parent != nullptr && parent == &t.place->default_context())) {
        parent = nullptr;
    }
    if (!c.my_traits.fp_settings) {
        c.my_cpu_ctl_env = (parent != nullptr ? *parent : t.place->default_context()).my_cpu_ctl_env;
    }
    if (parent == nullptr || !c.my_traits.bound) {
        c.my_state.store(state::isolated, std::memory_order_release);
        return;
    }
    c.my_parent = parent;
    c.my_context_list = t.contexts;
    if (parent->my_may_have_children.load(std::memory_order_relaxed) == 0) {
        parent->my_may_have_children.store(d1::task_group_context::may_have_children,
                                           std::memory_order_seq_cst);
    }
    (void)children_of(*parent).fetch_add(1, std::memory_order_relaxed);
    t.contexts->add(c);
    // If the spreading thread has left this list before, `spreading` is seen here, or else what it has set.
    if (spreading.load(std::memory_order_seq_cst)) {
        const guard after(tree);
    }
    // Dekker with cancel(): it sees that there are children, or its flag is seen here.
    if (parent->my_cancellation_requested.load(std::memory_order_seq_cst) != 0) {
        c.my_cancellation_requested.store(1, std::memory_order_relaxed);
    }
    c.my_state.store(state::bound, std::memory_order_release);
}

void task_group_context_impl::destroy(d1::task_group_context& c) noexcept {
    if (children_of(c).load(std::memory_order_acquire) != 0) {
        // A child lives on, and its parent must not be looked for any more.
        const guard held(tree);
        context_list::for_each_bound([&](d1::task_group_context& child) {
            if (child.my_parent == &c) {
                child.my_parent = nullptr;
            }
        });
    }
    if (c.my_context_list != nullptr) {
        c.my_context_list->remove(c);
        c.my_context_list = nullptr;
    }
    delete c.my_exception.load(std::memory_order_acquire);
    c.my_exception.store(nullptr, std::memory_order_relaxed);
    c.my_state.store(d1::task_group_context::state::dead, std::memory_order_relaxed);
}

void task_group_context_impl::reset(d1::task_group_context& c) noexcept {
    if (c.my_exception.load(std::memory_order_acquire) != nullptr) {
        const guard held(exceptions);
        delete c.my_exception.exchange(nullptr, std::memory_order_relaxed);
    }
    c.my_cancellation_requested.store(0, std::memory_order_relaxed);
}

bool task_group_context_impl::cancel(d1::task_group_context& c) noexcept {
    if (is_cancelled(c) || c.my_cancellation_requested.exchange(1, std::memory_order_seq_cst) != 0) {
        return false;
    }
    if (c.my_may_have_children.load(std::memory_order_seq_cst) != 0) {
        const guard held(tree);
        spreading.store(true, std::memory_order_seq_cst);
        context_list::for_each_bound([&](d1::task_group_context& child) {
            for (const d1::task_group_context* up = child.my_parent; up != nullptr; up = up->my_parent) {
                if (up == &c) {
                    child.my_cancellation_requested.store(1, std::memory_order_relaxed);
                    break;
                }
            }
        });
        spreading.store(false, std::memory_order_seq_cst);
    }
    return true;
}

void task_group_context_impl::capture_fp(d1::task_group_context& c) noexcept {
    c.my_cpu_ctl_env = read_floating_point();
    c.my_traits.fp_settings = true;
}

void task_group_context_impl::keep_exception(d1::task_group_context& c) noexcept {
    if (cancel(c)) {
        // The task that threw has not ended, so no thread that waits for it looks yet.
        auto* kept = new (std::nothrow) tbb_exception_ptr{std::current_exception()};
        if (kept == nullptr) {
            std::terminate();
        }
        c.my_exception.store(kept, std::memory_order_release);
    }
}

void task_group_context_impl::rethrow(d1::task_group_context& c) {
    if (c.my_exception.load(std::memory_order_acquire) == nullptr) {
        return;
    }
    std::exception_ptr error;
    {
        const guard held(exceptions);
        if (const tbb_exception_ptr* kept = c.my_exception.load(std::memory_order_acquire)) {
            error = kept->error;
        }
    }
    if (error) {
        std::rethrow_exception(error);
    }
}

void initialize(d1::task_group_context& c) { task_group_context_impl::initialize(c); }
void destroy(d1::task_group_context& c) { task_group_context_impl::destroy(c); }
void reset(d1::task_group_context& c) { task_group_context_impl::reset(c); }
bool cancel_group_execution(d1::task_group_context& c) { return task_group_context_impl::cancel(c); }
bool is_group_execution_cancelled(d1::task_group_context& c) {
    return task_group_context_impl::is_cancelled(c);
}
void capture_fp_settings(d1::task_group_context& c) { task_group_context_impl::capture_fp(c); }

} // namespace tbb::detail::r1
