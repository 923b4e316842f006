// Weights in the split deque: the thread that claims a weighted task gets that task's weight. The totals that
// others read meanwhile stay within the announced tasks.
#include <array>
#include <optional>

#include <pilfer/detail/deque/deque.hpp>

#include "../harness.hpp"

namespace {

using namespace model;
using pilfer::detail::ring;
using pilfer::detail::split_deque;
using pilfer::detail::steal_status;
using pilfer::detail::task_word;
using pilfer::detail::weight_entry;

/// Task k weighs 10 (k + 1) if it has a weight.
class weighing_client {
protected:
    using deque_type = split_deque<atom>;

    explicit weighing_client(bool from_the_beginning)
        : m_deque(from_the_beginning ? make_scales() : &m_plain, false) {}

    void push_weighted(unsigned task) {
        m_tasks.announce(task);
        m_weight[task] = 10 * (task + 1);
        if (!m_deque.owner().can_weigh()) {
            m_deque.owner().grow(make_scales());
        }
        if (m_deque.owner().push_weighted(task + 1, m_weight[task])) {
            look_after();
        }
    }
    void push(unsigned task) {
        m_tasks.announce(task);
        if (m_deque.owner().push(task + 1)) {
            if (m_deque.owner().weighs()) {
                m_deque.owner().weigh_newest();
            }
            look_after();
        }
    }
    bool pop(std::int64_t unshare = 1) {
        const task_word t = m_deque.owner().pop(unshare);
        if (t != 0) {
            m_tasks.run(static_cast<unsigned>(t) - 1);
        }
        return t != 0;
    }
    void expose(std::int64_t n) { (void)m_deque.owner().expose(n); }
    /// `exact`: a task without a weight can be distinguished from one with a weight.
    void steal(bool exact = true) {
        const auto got = m_deque.thief().steal([](task_word) { return true; });
        if (got.status != steal_status::success) {
            return;
        }
        const auto task = static_cast<unsigned>(got.task) - 1;
        m_tasks.run(task);
        if (const std::uint64_t announced = m_weight[task]; announced != 0) {
            check(got.weight == announced, "a task with another one's weight");
        } else if (exact) {
            check(got.weight == 1, "a weight that nobody announced");
        }
    }
    void ask() {
        const auto now = m_deque.thief().scales();
        const std::uint64_t n = now.oldest(now.weight() / 2);
        check(n <= now.tasks() && (n > 0 || now.tasks() == 0), "an amount out of range");
    }
    void finish_all(unsigned n) {
        while (pop()) {
        }
        m_tasks.finish(n);
    }

private:
    /// As the library does: a thief that sees the ring must see its entries made.
    ring<atom>* make_scales() {
        m_entries.emplace();
        m_weighing.weights = m_entries->data();
        return &m_weighing;
    }
    void look_after() {
        check(m_deque.owner().make_room(), "a ring of four is full");
        (void)m_deque.signal().take();
    }

    ring<atom>::slot m_slots[4];
    ring<atom>::slot m_more[4];
    std::optional<std::array<weight_entry<atom>, 4>> m_entries;
    ring<atom> m_plain{3, nullptr, m_slots};
    ring<atom> m_weighing{3, nullptr, m_more};

protected:
    deque_type m_deque;

private:
    static constexpr unsigned last = 5;
    tasks<last> m_tasks;
    plain<std::uint64_t> m_weight[last]; // 0: none
};

/// Positions are used again, by tasks with other weights and by some without.
struct used_again : weighing_client {
    static constexpr unsigned threads = 3;
    used_again() : weighing_client(true) {}
    void thread(unsigned i) {
        if (i != 0) {
            steal();
            steal();
            return;
        }
        push_weighted(0);
        push_weighted(1);
        (void)pop();
        push(2);
        expose(1);
        push_weighted(3);
        expose(2);
        (void)pop();
        push(4);
        expose(1);
        while (pop()) {
        }
    }
    void finish() { finish_all(5); }
};

/// The first weight comes when thieves are there already, and again when all weights are gone.
struct begun_twice : weighing_client {
    static constexpr unsigned threads = 3;
    begun_twice() : weighing_client(false) {}
    void thread(unsigned i) {
        if (i == 1) {
            steal();
            steal();
        } else if (i == 2) {
            steal();
            ask();
        } else {
            push(0);
            expose(1);
            push_weighted(1);
            expose(1);
            (void)pop(INT64_MAX / 4);
            push(2); // perhaps at the index of the weight
            expose(2);
            push_weighted(3);
            expose(1);
            while (pop()) {
            }
        }
    }
    void finish() { finish_all(4); }
};

/// Tasks that a thief reaches for right after their announcement.
struct reached : weighing_client {
    static constexpr unsigned threads = 3;
    reached() : weighing_client(true) {}
    void thread(unsigned i) {
        if (i == 1) {
            (void)m_deque.thief().force_expose(2);
            steal(false);
        } else if (i == 2) {
            steal(false);
            steal(false);
        } else {
            push_weighted(0);
            (void)pop();
            push(1);
            push_weighted(2);
            (void)pop();
            push_weighted(3);
            (void)pop();
        }
    }
    void finish() { finish_all(4); }
};

/// The owner pops below the first weight, and announces the next one there.
struct below_the_first : weighing_client {
    static constexpr unsigned threads = 3;
    below_the_first() : weighing_client(true) {}
    void thread(unsigned i) {
        if (i == 1) {
            steal();
            steal();
        } else if (i == 2) {
            steal();
            ask();
        } else {
            push(0);
            push_weighted(1);
            (void)pop();
            (void)pop();
            push_weighted(2);
            expose(1);
            push_weighted(3);
            expose(1);
            while (pop()) {
            }
        }
    }
    void finish() { finish_all(4); }
};

const registered<used_again> r1("deque_weights", "weights at positions that are used again, two thieves");
const registered<begun_twice> r2("deque_weights_begin",
                                 "the first weight, the last one, and a first one again");
const registered<below_the_first> r4("deque_weights_below", "weights below the first one of the deque");
const registered<reached> r3("deque_weights_reach", "a thief reaches for tasks with weights");

} // namespace
