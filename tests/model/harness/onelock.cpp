// The one-lock back-end: the thread that is called for a task, the one that takes it, and a temporary thread
// when all are stuck.
#include "backend/one_lock_queue.hpp"

#include "../harness.hpp"

namespace {

using namespace model;
// In the checker a spin ends only when something changes. With spins before it, no thread would ever sleep.
using queue_type = pilfer::detail::one_lock_queue<atom, park, 0>;
using found = queue_type::found;

/// `Threads` from the beginning, and `Spare` temporary ones; `Tasks` in all. After the last one all threads
/// end.
template <unsigned Threads, unsigned Spare, unsigned Tasks>
struct one_lock_client {
    struct task : queue_type::node {
        unsigned number = 0;
    };

    queue_type::seat seats[Threads + Spare];
    queue_type queue{seats, Threads, Spare};
    task all[Tasks];
    tasks<Tasks> books;
    // Instead of making a thread: the number of requests for each temporary one.
    model::atomic<std::uint32_t> wanted[Spare + 1];
    unsigned ran = 0; // of the checker itself

    one_lock_client() {
        for (unsigned i = 0; i < Tasks; ++i) {
            all[i].number = i;
        }
    }
    void start(queue_type::seat* s) {
        if (s == nullptr) {
            return;
        }
        auto& word = wanted[queue.number_of(*s) - Threads];
        word.fetch_add(1, std::memory_order_acq_rel);
        park::wake(word);
    }
    void submit(unsigned i) {
        books.announce(i);
        start(queue.submit(all[i]));
    }
    void push(unsigned me, unsigned i) {
        books.announce(i);
        start(queue.push(me, all[i]));
    }
    void has_run(unsigned i) {
        books.run(i);
        if (++ran == Tasks) {
            queue.end();
            for (auto& word : wanted) {
                word.fetch_add(1u << 16, std::memory_order_acq_rel);
                park::wake(word);
            }
        }
    }
    void rest(unsigned me) {
        queue.rest(me, [](model::atomic<std::uint32_t>& word) { park::wait(word, 0); });
    }
    /// A thread's life; run(number of the task).
    template <class Run>
    void work(unsigned me, Run run) {
        for (;;) {
            queue_type::node* n = nullptr;
            const found what = queue.look(me, n);
            if (what == found::over) {
                return;
            }
            if (what == found::nothing) {
                rest(me);
            } else {
                run(static_cast<task*>(n)->number);
            }
        }
    }
    /// Lives as often as it is wanted.
    template <class Run>
    void work_when_wanted(unsigned me, Run run) {
        auto& word = wanted[me - Threads];
        for (std::uint32_t lives = 0;;) {
            const std::uint32_t now = word.load(std::memory_order_acquire);
            if ((now & 0xffff) != lives) {
                ++lives;
                work(me, run);
            } else if (now >> 16 != 0) {
                return;
            } else {
                park::wait(word, now);
            }
        }
    }
    void finish() {
        books.finish();
        const auto left = queue.now();
        check(left.ready == 0, "a task is left in a list");
        check(left.blocked == 0, "a thread counts as blocked that is not");
        check(left.threads == Threads, "a temporary thread counts on");
    }
};

/// Two threads, and one outside that submits two tasks. The first task blocks its thread until the other one
/// has run, and then until the task that it pushes itself has run.
struct calls : one_lock_client<2, 0, 3> {
    static constexpr unsigned threads = 3;
    model::atomic<unsigned> others{0};
    void wait_for(unsigned n) {
        while (others.load(std::memory_order_acquire) < n) {
            here().relax();
        }
    }
    void thread(unsigned i) {
        if (i == 2) {
            submit(0);
            submit(1);
            return;
        }
        work(i, [this, i](unsigned number) {
            if (number == 0) {
                wait_for(1);
                push(i, 2);
                wait_for(2);
            } else {
                others.fetch_add(1, std::memory_order_acq_rel);
            }
            has_run(number);
        });
    }
};

/// A task pops what it has pushed, while the other thread looks for it.
struct taking_back : one_lock_client<2, 0, 3> {
    static constexpr unsigned threads = 2;
    taking_back() { submit(0); }
    void thread(unsigned i) {
        work(i, [this, i](unsigned number) {
            if (number == 0) {
                push(i, 1);
                push(i, 2);
                if (queue.dequeue(all[1])) {
                    has_run(1);
                }
                check(!queue.dequeue(all[0]), "a task is taken that runs");
            }
            has_run(number);
        });
    }
};

/// A task waits for another one. With one thread, a temporary thread runs that one.
template <unsigned Threads, unsigned Spare>
struct waits : one_lock_client<Threads, Spare, 2> {
    static constexpr unsigned threads = Threads + Spare + 1;
    model::atomic<unsigned> future{0}; // 1: a task waits, 2: the result is there
    plain<unsigned> result = 0;
    unsigned waiter = 0; // of the checker itself
    void wait(unsigned i) {
        waiter = i;
        if (future.exchange(1, std::memory_order_acq_rel) != 2) {
            this->start(this->queue.block(i));
            while (!this->queue.may_go_on(i)) {
                this->rest(i);
            }
        }
        check(result == 7, "a wait ends before what it waits for");
    }
    void bring() {
        result = 7;
        if (future.exchange(2, std::memory_order_acq_rel) == 1) {
            this->queue.release(waiter);
        }
    }
    void thread(unsigned i) {
        if (i == Threads + Spare) {
            this->submit(0);
            this->submit(1);
            return;
        }
        const auto run = [this, i](unsigned number) {
            number == 0 ? wait(i) : bring();
            this->has_run(number);
        };
        if constexpr (Spare != 0) {
            if (i >= Threads) {
                this->work_when_wanted(i, run);
                return;
            }
        }
        this->work(i, run);
    }
};
using stuck = waits<1, 1>;
using released = waits<2, 0>;

const registered<calls> onelock_calls{"onelock_calls",
                                      "two threads and a submitter: nobody sleeps beside a task"};
const registered<taking_back> onelock_taking_back{"onelock_taking_back",
                                                  "a task that is taken back and looked for"};
const registered<stuck> onelock_stuck{"onelock_stuck", "all threads block and a task is ready"};
const registered<released> onelock_released{"onelock_released", "a wait that ends while it begins"};

} // namespace
