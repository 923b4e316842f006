// Forks, joins, and the strands that run between them.
#include <algorithm>

#include "race/notes.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail::race {
namespace {

/// Forgets the frames below `upto`: they have ended. True if anything in them was known.
bool clear(fiber& f, std::uintptr_t upto) noexcept {
    const bool any = f.lowest < upto && upto - f.lowest < (std::uintptr_t{64} << 20) &&
                     the.shadow.forget(f.lowest - 128, upto - f.lowest + 128);
    f.lowest = upto;
    return any;
}

void pin(std::uint32_t s) noexcept {
    if (s != 0) {
        ++the.order[s].pins;
    }
}
void unpin(std::uint32_t s) noexcept {
    if (s != 0) {
        --the.order[s].pins;
    }
}
void note_site(std::uint32_t s, std::uint32_t calls_here, std::uint64_t site) noexcept {
    the.order[s].calls = calls_here;
    the.order[s].site = site;
}

/// The running fiber, also while it is in the library. Null: nothing is looked at.
[[nodiscard]] fiber* any_fiber(const inside& i) noexcept {
    return i.fiber_here != nullptr ? i.fiber_here : fiber_in_library();
}
[[nodiscard]] fiber* checked(const inside& i) noexcept {
    fiber* const f = any_fiber(i);
    return f != nullptr && f->strand != 0 ? f : nullptr;
}

/// Called if nothing is looked at: a function of blocking() may start tasks all the same.
void note_fork() noexcept {
    if (noting != nullptr) {
        const in_turn now;
        cannot_follow("tasks that functions of blocking() start, which are not looked at");
    }
}

/// Forks a strand whose order follows from edges alone.
[[nodiscard]] strand apart(fiber& f, how kind, std::uint64_t site) noexcept {
    the.uses_edges();
    the.make_strand(f);
    const std::uint32_t made = the.order.edge_from(f.strand, f.edges, 0);
    const std::uint32_t child = the.order.start(f.strand, made, kind);
    note_site(child, the.calls.record(f), site);
    pin(child);
    f.begin_strand(the.order.after(f.strand, f.edges, how::rest), __builtin_frame_address(0));
    note_site(f.strand, the.order[child].calls, the.order[child].site);
    return child;
}
} // namespace

strand fork(block& b, how kind) noexcept {
    const inside inner;
    fiber* const f = checked(inner);
    if (f == nullptr) {
        note_fork();
        return 0;
    }
    the.make_strand(*f);
    if (b.join != 0 && the.order[f->strand].inner != b.join) {
        // The block of a task further out, or one with another one open inside of it: its order is one of
        // edges.
        const strand child = apart(*f, kind, reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
        return child;
    }
    std::uint32_t child = 0;
    std::uint32_t rest = 0;
    const bool first = b.join == 0;
    the.order.fork(f->strand, f->edges, kind, kind == how::first_of_join ? how::second_of_join : how::rest,
                   child, rest, b.join);
    pin(child);
    if (kind == how::first_of_join) {
        pin(rest);
    }
    if (first) {
        pin(b.join);
    }
    const std::uint32_t here = the.calls.record(*f);
    const auto site = reinterpret_cast<std::uint64_t>(__builtin_return_address(0));
    note_site(child, here, site);
    note_site(rest, here, site);
    f->begin_strand(rest, __builtin_frame_address(0));
    return child;
}

strand current() noexcept {
    const inside inner;
    const fiber* const f = any_fiber(inner);
    return f != nullptr ? f->strand : 0;
}

strand fork_apart() noexcept {
    const inside inner;
    fiber* const f = inner.checked();
    if (f == nullptr) {
        note_fork();
        return 0;
    }
    return apart(*f, how::async, reinterpret_cast<std::uint64_t>(__builtin_return_address(0)));
}

void join(block& b) noexcept {
    const std::uint32_t join = b.join;
    if (join == 0) {
        return;
    }
    b.join = 0;
    unpin(join);
    const inside inner;
    fiber* const f = checked(inner);
    if (f == nullptr) {
        return;
    }
    the.make_strand(*f);
    const std::uint32_t edges = the.order.both(f->edges, the.order[join].edges);
    if (the.order[f->strand].inner == join) {
        f->begin_strand(join, __builtin_frame_address(0));
        f->edges = edges;
        the.order[join].joined = true;
        return;
    }
    // Blocks that overlap: an edge, which leaves out what was forked in the blocks inside of it.
    the.uses_edges();
    std::uint32_t inside = the.order[f->strand].inner;
    while (inside != 0 && the.order[inside].inner != join) {
        inside = the.order[inside].inner;
    }
    const std::uint32_t end = inside != 0 ? the.order.end_of(join, inside) : join;
    f->edges = the.order.both(edges, the.order.edge_from(end, the.order[join].edges, 0));
    f->begin_strand(the.order.after(f->strand, f->edges, how::joined), __builtin_frame_address(0));
    if (inside != 0) {
        the.order[inside].inner = the.order[join].inner;
    } else {
        cannot_follow("a scope that another task ended");
    }
}

void detector::make_strand(fiber& f, std::uint32_t oldest) noexcept {
    if (f.element == 0) {
        return;
    }
    const std::uint32_t below = order.element_of(f.strand, f.edges, oldest);
    const bool has_below = f.first_element != f.element;
    const std::uint32_t made = has_below ? order.after(below, f.edges, how::element) : below;
    std::uint32_t& s = f.of_loop->m_segments;
    for (; s != 0 && segments[s].element >= f.first_element; s = segments[s].next) {
        const bool is_own = segments[s].element == f.element;
        segments[s].strand = is_own ? made : below;
        segments[s].element = is_own ? 0 : segments[s].element;
    }
    f.strand = made;
    f.element = 0;
    f.forget_answers();
}

loop::loop(bool has_elements) noexcept {
    if (!has_elements) {
        return;
    }
    m_elements = fork(m_block, how::element);
    const inside inner;
    fiber* const f = any_fiber(inner);
    if (f == nullptr || m_elements == 0) {
        m_elements = 0;
        return;
    }
    m_before = f->strand;
    m_edges_before = f->edges;
    m_locks_before = f->locks;
    pin(m_before);
    m_outer = f->of_loop;
    f->of_loop = this;
}
loop::~loop() {
    {
        const inside inner;
        if (fiber* const f = any_fiber(inner); f != nullptr && m_elements != 0) {
            this->end_element(*f);
            f->of_loop = m_outer;
            f->locks = m_locks_before;
            unpin(m_before);
            (void)clear(*f, fiber::stack_above(__builtin_frame_address(0)));
            f->begin_strand(m_before, __builtin_frame_address(0));
            f->edges = m_edges_before;
        }
    }
    unpin(m_elements);
    join(m_block);
    if (!m_ended) {
        cannot_follow(left_out);
    }
}
void loop::end_element(fiber& f) noexcept {
    if (f.strand != 0 && f.element == 0 && f.strand != m_elements && m_last != 0) {
        const std::uint32_t join = m_block.join;
        const bool is_apart = the.order[f.strand].part != the.order[join].part;
        const std::uint32_t edges = is_apart ? the.order.edge_from(f.strand, f.edges, 0) : f.edges;
        the.order[join].edges = the.order.both(the.order[join].edges, edges);
    }
}
void loop::begin_element(fiber& f, std::uint32_t first, const void* frame) noexcept {
    const bool has_forgotten = clear(f, fiber::stack_above(frame));
    const bool was_operation = f.first_element != f.element;
    if (f.strand == m_elements && f.element != 0 && f.locks == 0 && !has_forgotten &&
        !(was_operation && f.epoch == f.shared_epoch)) {
        f.acquired = 0;
        f.segment = 0;
        f.own = fiber::stack_above(frame);
        f.epoch = first != 0 ? ++fiber::last_epoch : f.shared_epoch;
    } else {
        f.begin_strand(m_elements, frame);
        f.edges = the.order[m_elements].edges;
        f.locks = 0; // a lock that the parent holds excludes no other element
    }
    if (m_last == ended_element - 1) {
        m_last = 0; // after 4 billion the numbers begin again
        if (m_innermost != nullptr) {
            cannot_follow("a reduction of more than two billion elements");
        }
    }
    f.element = ++m_last;
    f.first_element = first != 0 ? first : m_last;
    if (m_innermost == nullptr) {
        m_segments = 0;
    }
}
void loop::next() noexcept {
    const inside inner;
    if (fiber* const f = any_fiber(inner); f != nullptr && m_elements != 0) {
        this->end_element(*f);
        this->begin_element(*f, 0, __builtin_frame_address(0));
    }
}

subtree::subtree(loop& l) noexcept : m_loop(l), m_outer(l.m_innermost), m_first(l.m_last) {
    l.m_innermost = this;
}
subtree::~subtree() {
    unpin(m_oldest);
    m_loop.m_innermost = m_outer;
}
void subtree::note_strand(const fiber& f) noexcept {
    if (f.element != 0 || f.strand == m_loop.m_elements) {
        return;
    }
    if (m_oldest == 0) {
        m_oldest = f.strand;
        pin(m_oldest);
    }
    m_edges = the.order.both(m_edges, f.edges);
}
void subtree::next() noexcept {
    const inside inner;
    if (fiber* const f = any_fiber(inner); f != nullptr && m_loop.m_elements != 0) {
        this->note_strand(*f);
        m_loop.end_element(*f);
        m_loop.begin_element(*f, 0, __builtin_frame_address(0));
    }
}
void subtree::combines(bool accesses) noexcept {
    m_combines = true;
    const inside inner;
    fiber* const f = any_fiber(inner);
    if (f == nullptr || m_loop.m_elements == 0) {
        return;
    }
    this->note_strand(*f);
    const bool is_seen = inner.fiber_here != nullptr; // no `library` hides the results and the operation
    if (m_oldest == 0 && !accesses && !is_seen) {
        return;
    }
    m_loop.end_element(*f);
    m_loop.begin_element(*f, m_first, __builtin_frame_address(0));
    if (m_oldest != 0) {
        f->edges = the.order.both(f->edges, m_edges);
        the.make_strand(*f, m_oldest);
    }
}
subtree_end::subtree_end(subtree& node) noexcept : m_node(node) {}
subtree_end::~subtree_end() {
    if (!m_node.m_combines) {
        m_node.combines(true);
    }
}

ordered_tasks::ordered_tasks(how kind) noexcept {
    m_all = fork(m_block, kind);
    const inside inner;
    fiber* const f = any_fiber(inner);
    if (f == nullptr || m_all == 0) {
        m_all = 0;
        return;
    }
    m_before = f->strand;
    m_edges_before = f->edges;
    m_locks_before = f->locks;
    pin(m_before);
    ++f->ordered;
    ++the.ordered;
    f->begin_strand(0, __builtin_frame_address(0));
}
ordered_tasks::~ordered_tasks() {
    {
        const inside inner;
        if (fiber* const f = any_fiber(inner); f != nullptr && m_all != 0) {
            --f->ordered;
            unpin(m_before);
            f->begin_strand(m_before, __builtin_frame_address(0));
            f->edges = m_edges_before;
            f->locks = m_locks_before;
            if (--the.ordered == 0 && !the.order.has_other_edges()) {
                the.order.forget_edges();
            }
        }
    }
    unpin(m_all);
    join(m_block);
}
strand ordered_tasks::start(const task_start& after) noexcept {
    if (m_all == 0) {
        return 0;
    }
    const inside inner;
    const std::uint32_t edges = the.order.both(after.edges, the.order[m_all].edges);
    const std::uint32_t made = the.order.task_after(after.next != 0 ? after.next : m_all, edges);
    pin(made);
    return made;
}
void ordered_tasks::note_end(task_end& end) noexcept {
    forget(end);
    const inside inner;
    fiber* const f = checked(inner);
    if (f == nullptr || m_all == 0) {
        return;
    }
    end.last = f->strand;
    end.edges = f->edges;
    pin(end.last);
    if (const std::uint32_t join = m_block.join; the.found.edges) {
        the.order[join].edges = the.order.both(the.order[join].edges, f->edges); // of waits in the task
    }
    end.all = m_all;
}
void ordered_tasks::add_edge(task_end& from, task_start& to) noexcept {
    if (from.last == 0) {
        return;
    }
    const inside inner;
    if (to.next != 0) {
        from.edge = from.edge != 0 ? from.edge : the.order.edge_from(from.last, from.edges, 0);
        to.edges = the.order.both(to.edges, from.edge);
        return;
    }
    if (from.next == 0) {
        from.next = the.order.next_of(from.last, from.all);
        pin(from.next);
    }
    to.next = from.next;
    to.edges = the.order.both(to.edges, from.edges);
}
void ordered_tasks::add_edges(const task_start& from, task_start& to) noexcept {
    const inside inner;
    to.edges = the.order.both(to.edges, from.edges);
}
void ordered_tasks::forget(task_end& end) noexcept {
    unpin(end.last);
    unpin(end.next);
    end = {};
}

running::running(strand child, const block* b) noexcept
    : m_before(0), m_edges_before(0), m_locks(0), m_child(child), m_join(b != nullptr ? b->join : 0),
      m_from_library(false) {
    begin(__builtin_frame_address(0));
}
void running::begin(const void* frame) noexcept {
    if (fiber* const f = running_fiber == nullptr ? fiber_in_library() : nullptr;
        f != nullptr && f->in_library == 1) {
        f->in_library = 0;
        running_fiber = f;
        m_from_library = true;
    }
    const inside inner;
    fiber* const f = any_fiber(inner);
    if (f == nullptr) {
        m_child = 0;
        return;
    }
    the.make_strand(*f);
    m_before = f->strand;
    m_edges_before = f->edges;
    m_locks = f->locks;
    f->locks = 0; // a lock that its parent holds excludes no other child
    pin(m_before);
    if (m_before == 0 && m_child != 0 && f->top == f->frames) {
        f->frames->calls = the.order[m_child].calls; // a stack of its own: its callers are those of the fork
    }
    (void)clear(*f, fiber::stack_above(frame));
    f->begin_strand(m_child, frame);
    f->edges = m_child != 0 ? the.order[m_child].edges : 0;
}

running::~running() {
    {
        const inside inner;
        fiber* const f = any_fiber(inner);
        if (f == nullptr) {
            return;
        }
        if (m_join != 0 && f->strand != 0 && f->element == 0) {
            const bool is_apart = the.order[f->strand].part != the.order[m_join].part;
            const std::uint32_t edges = is_apart ? the.order.edge_from(f->strand, f->edges, 0) : f->edges;
            the.order[m_join].edges = the.order.both(the.order[m_join].edges, edges);
        }
        f->locks = m_locks;
        unpin(m_child);
        unpin(m_before);
        (void)clear(*f, fiber::stack_above(__builtin_frame_address(0)));
        f->begin_strand(m_before, __builtin_frame_address(0));
        f->edges = m_edges_before;
    }
    if (fiber* const f = running_fiber; m_from_library && f != nullptr) {
        f->in_library = 1;
        running_fiber = nullptr;
    }
}

library::library(std::uint32_t levels) noexcept : m_fiber(running_fiber), m_top(nullptr), m_levels(levels) {
    if (fiber* const f = running_fiber) {
        m_top = f->top;
        the.found.locks = the.found.locks || f->locks != 0; // the join itself is under these locks
        // A call of the library stands for those in it, which are not seen.
        *++f->top = {reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), 0, 0, 0, 0};
        f->in_library = levels;
        running_fiber = nullptr;
    } else if (fiber* const inner = fiber_in_library()) {
        m_fiber = inner;
        inner->in_library += levels;
    }
}
library::~library() {
    auto* const f = static_cast<fiber*>(m_fiber);
    if (f == nullptr) {
        return;
    }
    if (m_top == nullptr) {
        f->in_library -= m_levels;
        return;
    }
    f->top = static_cast<frame*>(m_top); // calls that began or ended unseen
    if (fiber_in_library() == f) {
        running_fiber = f;
    }
    f->in_library = 0;
}

program::program() noexcept : m_fiber(nullptr), m_levels(0) {
    if (running_fiber != nullptr) {
        return;
    }
    if (fiber* const f = fiber_in_library()) {
        m_fiber = f;
        m_levels = f->in_library;
        f->lowest = std::min(f->lowest, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
        f->in_library = 0;
        running_fiber = f;
    }
}
program::~program() {
    if (m_fiber != nullptr) {
        static_cast<fiber*>(m_fiber)->in_library = m_levels;
        running_fiber = nullptr;
    }
}

unseen::unseen() noexcept { look_away(); }
unseen::~unseen() { look_again(); }

void fresh(const void* at, std::size_t bytes) noexcept {
    add_note(did::makes, at, bytes, 0);
    const inside inner;
    if (inner.fiber_here != nullptr) {
        inner.fiber_here->forget_answers();
        the.shadow.forget(reinterpret_cast<std::uintptr_t>(at), bytes);
    }
}

caller::caller() noexcept : m_strand(0), m_edges(0), m_calls(0) {
    const inside inner;
    if (fiber* const f = inner.checked()) {
        the.make_strand(*f);
        m_strand = f->strand;
        m_edges = f->edges;
        *++f->top = {reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), 0, 0, 0, 0};
        m_calls = the.calls.record(*f);
        --f->top;
        pin(m_strand);
    } else {
        note_fork();
    }
}
void caller::returns() noexcept {
    unpin(m_strand);
    const inside inner;
    if (fiber* const f = inner.fiber_here; f != nullptr && m_strand != 0) {
        f->begin_strand(m_strand, __builtin_frame_address(0));
        f->edges = m_edges;
    }
}
caller::call::call(caller& c) noexcept : m_caller(c), m_before(0), m_edges_before(0) {
    const inside inner;
    if (fiber* const f = inner.fiber_here) {
        the.make_strand(*f);
        m_before = f->strand;
        m_edges_before = f->edges;
        pin(m_before);
        if (m_before == 0) {
            f->frames->calls = c.m_calls;
        }
        (void)clear(*f, fiber::stack_above(__builtin_frame_address(0)));
        f->begin_strand(c.m_strand, __builtin_frame_address(0));
        f->edges = c.m_edges;
    }
}
caller::call::~call() {
    const inside inner;
    if (fiber* const f = inner.fiber_here) {
        unpin(m_caller.m_strand);
        the.make_strand(*f);
        m_caller.m_strand = f->strand;
        m_caller.m_edges = f->edges;
        pin(m_caller.m_strand);
        unpin(m_before);
        (void)clear(*f, fiber::stack_above(__builtin_frame_address(0)));
        f->begin_strand(m_before, __builtin_frame_address(0));
        f->edges = m_edges_before;
    }
}

} // namespace detail::race
} // namespace v0
} // namespace pilfer
