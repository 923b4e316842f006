// parallel_pipeline().
//
// An item is carried through the stages by one task. A serial stage has a gate: an item that finds it closed,
// or whose turn it is not, is left there, and its task ends. The task that leaves the stage starts a task for
// the next item that may enter. The input is a stage, too: the number of items in flight is bounded, and a
// serial input is at one task at a time.
#include "scheduler.hpp"

#include <deque>
#include <map>

namespace tbb::detail::r1 {

class stage_task;

namespace {
struct item {
    void* object = nullptr;
    std::uint64_t number = 0;
    bool numbered = false; // an ordered stage has given it its place in the order
};
} // namespace

/// Items that wait for a serial stage.
class input_buffer {
public:
    /// True if `i` may enter at once. Otherwise it is kept.
    bool enter(item& i, bool ordered) { return ordered ? enter_in_order(i) : enter_in_any_order(i); }
    /// After an item has passed: true if `i` is the next one that may enter.
    bool pass(item& i, bool ordered) { return ordered ? pass_in_order(i) : pass_in_any_order(i); }

    /// Calls f for each kept item. Nothing else is going on any more.
    template <class F>
    void drop(F f) {
        for (auto& [number, i] : m_ordered) {
            f(i.object);
        }
        for (item& i : m_any) {
            f(i.object);
        }
    }

private:
    // The item whose number is the turn is alone, so it needs no lock.
    bool enter_in_order(item& i) {
        if (i.numbered && i.number == m_turn.load(std::memory_order_acquire)) { // pass_in_order()
            return true;
        }
        const guard held(m_lock);
        if (!i.numbered) {
            // The first ordered stage that items meet decides their order. What is before it is no longer
            // ordered.
            i.number = m_given++;
            i.numbered = true;
        }
        const auto kept = m_ordered.emplace(i.number, i).first;
        m_kept.store(true, std::memory_order_seq_cst);
        // Dekker with pass_in_order(): it sees that an item is kept, or its turn is seen here.
        if (m_turn.load(std::memory_order_seq_cst) != i.number) {
            return false;
        }
        remove(kept);
        return true;
    }
    bool pass_in_order(item& i) {
        m_turn.store(m_turn.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
        if (!m_kept.load(std::memory_order_seq_cst)) {
            return false;
        }
        const guard held(m_lock);
        // Items may have passed meanwhile, so the turn is read again.
        const auto found = m_ordered.find(m_turn.load(std::memory_order_acquire));
        if (found == m_ordered.end()) {
            return false;
        }
        i = found->second;
        remove(found);
        return true;
    }
    void remove(std::map<std::uint64_t, item>::iterator kept) noexcept {
        m_ordered.erase(kept);
        if (m_ordered.empty()) {
            m_kept.store(false, std::memory_order_relaxed);
        }
    }

    bool enter_in_any_order(item& i) {
        const guard held(m_lock);
        if (m_busy) {
            m_any.push_back(i);
            return false;
        }
        m_busy = true;
        return true;
    }
    bool pass_in_any_order(item& i) {
        const guard held(m_lock);
        if (m_any.empty()) {
            m_busy = false;
            return false;
        }
        i = m_any.front();
        m_any.pop_front();
        return true;
    }

    std::atomic<std::uint64_t> m_turn{0};
    std::atomic<bool> m_kept{false}; // an item is in m_ordered
    short_lock m_lock;
    bool m_busy = false;
    std::uint64_t m_given = 0;
    std::map<std::uint64_t, item> m_ordered;
    std::deque<item> m_any;
};

class pipeline {
public:
    pipeline(d1::task_group_context& c, std::size_t tokens) : m_context(c), m_places(tokens) {}
    pipeline(const pipeline&) = delete;
    pipeline& operator=(const pipeline&) = delete;
    ~pipeline() {
        for (d1::base_filter*& f : m_filters) {
            if (input_buffer* b = f->my_input_buffer) {
                b->drop([&](void* object) { f->finalize(object); });
                delete b;
                f->my_input_buffer = nullptr;
            }
        }
        for (d1::base_filter* f : m_filters) {
            f->~base_filter();
            deallocate_memory(f);
        }
    }

    void add(const d1::filter_node& n) {
        if (n.left && n.right) {
            add(*n.left);
            add(*n.right);
            return;
        }
        d1::base_filter* f = n.create_filter();
        try {
            m_filters.push_back(f);
        } catch (...) {
            f->~base_filter();
            deallocate_memory(f);
            throw;
        }
        f->my_pipeline = this;
        if (f->is_serial() && m_filters.size() > 1) {
            f->my_input_buffer = new input_buffer;
        }
    }
    void run();

    [[nodiscard]] std::size_t size() const noexcept { return m_filters.size(); }
    [[nodiscard]] d1::base_filter& filter(std::size_t i) const noexcept { return *m_filters[i]; }
    [[nodiscard]] input_buffer* gate(std::size_t i) const noexcept { return m_filters[i]->my_input_buffer; }
    [[nodiscard]] bool input_is_serial() const noexcept { return m_filters[0]->is_serial(); }
    [[nodiscard]] d1::task_group_context& context() const noexcept { return m_context; }
    [[nodiscard]] d1::wait_context& tasks() noexcept { return m_tasks; }

    /// By an ordered input, which is at one task at a time.
    [[nodiscard]] std::uint64_t next_number() noexcept { return m_numbers++; }

    // An input task of a parallel input has a place for its item before it begins. One of a serial input
    // takes the place afterwards: m_places is above 0 while such a task is there, or if the input has ended.

    /// Before a parallel input: true if there is a place for one more input task.
    bool begin_parallel_input() noexcept {
        std::size_t free = m_places.load(std::memory_order_relaxed);
        while (free != 0 && !m_ended.load(std::memory_order_relaxed)) {
            if (m_places.compare_exchange_weak(free, free - 1, std::memory_order_relaxed)) {
                return true;
            }
        }
        return false;
    }
    /// After a serial input has given an item: true if the caller begins the next input task.
    bool end_serial_input() noexcept { return m_places.fetch_sub(1, std::memory_order_release) > 1; }
    /// After an item has left the last stage: true if its task becomes an input task.
    bool end_item() noexcept {
        return input_is_serial() ? m_places.fetch_add(1, std::memory_order_acquire) == 0 // end_serial_input()
                                 : !m_ended.load(std::memory_order_relaxed);
    }
    void end_parallel_input() noexcept { m_ended.store(true, std::memory_order_relaxed); }

private:
    d1::task_group_context& m_context;
    d1::wait_context m_tasks{0};
    std::vector<d1::base_filter*> m_filters;
    std::uint64_t m_numbers = 0;
    std::atomic<bool> m_ended{false}; // of a parallel input
    alignas(64) std::atomic<std::size_t> m_places;
};

/// Carries one item.
class stage_task final : public d1::task {
public:
    stage_task(pipeline& p, d1::small_object_allocator& a) : m_pipeline(p), m_allocator(a) {}
    /// For an item that has been let into stage `stage`.
    stage_task(pipeline& p, d1::small_object_allocator& a, const item& i, std::size_t stage)
        : m_pipeline(p), m_allocator(a), m_item(i), m_stage(stage) {}

    d1::task* execute(d1::execution_data& ed) override {
        if (m_stage == 0) {
            const bool serial = m_pipeline.input_is_serial();
            if (!serial && m_pipeline.begin_parallel_input()) {
                start_input(ed);
            }
            bool ends = false;
            thread_data& t = *static_cast<execution_data_ext&>(ed).thread;
            bool* const outer = std::exchange(t.input_ends, &ends);
            d1::base_filter& f = m_pipeline.filter(0);
            try_call([&] { m_item.object = f(nullptr); }).on_completion([&] { t.input_ends = outer; });
            if (m_item.object == nullptr && !f.object_may_be_null()) {
                ends = true;
            }
            if (f.is_ordered()) {
                m_item.number = m_pipeline.next_number();
                m_item.numbered = true;
            }
            if (ends) {
                m_item.object = nullptr;
                m_pipeline.end_parallel_input();
                return end(ed);
            }
            m_stage = 1;
            m_has_item = m_pipeline.size() > 1;
            if (serial && m_pipeline.end_serial_input()) {
                start_input(ed);
            }
            if (!enter_stage()) {
                return end(ed); // its token stays with the item
            }
        }
        while (m_stage < m_pipeline.size()) {
            if (task_group_context_impl::is_cancelled(m_pipeline.context())) {
                return cancel(ed);
            }
            d1::base_filter& f = m_pipeline.filter(m_stage);
            void* const made = f(m_item.object); // If it throws, cancel() drops the item.
            m_item.object = made;
            const std::size_t passed = m_stage++;
            m_has_item = m_stage < m_pipeline.size();
            item next;
            if (f.is_serial() && m_pipeline.gate(passed)->pass(next, f.is_ordered())) {
                d1::small_object_allocator a;
                start(m_pipeline, *a.new_object<stage_task>(ed, m_pipeline, a, next, passed)->with_item());
            }
            if (!enter_stage()) {
                return end(ed); // its token stays with the item
            }
        }
        if (!m_pipeline.end_item()) {
            return end(ed);
        }
        m_item = {};
        m_stage = 0;
        return this;
    }

    d1::task* cancel(d1::execution_data& ed) override {
        if (m_has_item) {
            m_pipeline.filter(m_stage).finalize(m_item.object);
        }
        return end(ed);
    }

    stage_task* with_item() noexcept {
        m_has_item = true;
        return this;
    }

private:
    /// Begins a task for an item that has a place.
    void start_input(d1::execution_data& ed) {
        d1::small_object_allocator a;
        start(m_pipeline, *a.new_object<stage_task>(ed, m_pipeline, a));
    }
    /// False if the item stays at the gate of the stage.
    bool enter_stage() {
        if (m_stage >= m_pipeline.size()) {
            return true;
        }
        d1::base_filter& f = m_pipeline.filter(m_stage);
        if (!f.is_serial() || m_pipeline.gate(m_stage)->enter(m_item, f.is_ordered())) {
            return true;
        }
        m_has_item = false;
        return false;
    }
    static void start(pipeline& p, stage_task& t) {
        p.tasks().reserve();
        r1::spawn(t, p.context());
    }
    d1::task* end(d1::execution_data& ed) {
        d1::wait_context& tasks = m_pipeline.tasks();
        m_allocator.delete_object(this, ed);
        tasks.release();
        return nullptr;
    }

    pipeline& m_pipeline;
    d1::small_object_allocator m_allocator;
    item m_item;
    std::size_t m_stage = 0;
    bool m_has_item = false; // that must be dropped by finalize() if the pipeline is cancelled
};

void pipeline::run() {
    d1::small_object_allocator a;
    if (!input_is_serial()) {
        (void)begin_parallel_input();
    }
    auto* first = a.new_object<stage_task>(*this, a);
    m_tasks.reserve();
    r1::execute_and_wait(*first, m_context, m_tasks, m_context);
}

void set_end_of_input(d1::base_filter&) {
    const thread_data* const t = thread_data::if_there();
    if (t != nullptr && t->input_ends != nullptr) {
        *t->input_ends = true;
    }
}

void parallel_pipeline(d1::task_group_context& c, std::size_t tokens, const d1::filter_node& n) {
    if (tokens == 0) {
        return;
    }
    pipeline p(c, tokens);
    p.add(n);
    p.run();
}

} // namespace tbb::detail::r1
