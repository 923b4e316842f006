// The end of a pool: submitters, workers whose units begin more units, and a shutdown that waits for quiet.
#include "idle/closing.hpp"

#include <pilfer/detail/deque/submissions.hpp>

#include "frame.hpp"

namespace {

using namespace model;
using pilfer::detail::closing;
using pilfer::detail::outstanding_counts;
using pilfer::detail::submission_queue;

/// `Submitters` threads that submit one unit each, `Workers`, and one thread that shuts down. `Nested`: every
/// submission begins an async, which may end on the other worker.
template <unsigned Submitters, unsigned Workers, bool Nested>
struct shutting_down {
    static constexpr unsigned threads = Submitters + Workers + 1;
    struct unit : submission_queue<atom>::node {
        plain<unsigned> payload = 0;
    };

    closing<atom, park> end;
    outstanding_counts<atom> counts[Workers];
    submission_queue<atom> submissions;
    submission_queue<atom> asyncs; // instead of the deques
    model::atomic<std::uint32_t> events{0};
    model::atomic<bool> stop{false};
    unit units[2 * Submitters];
    // Of the checker itself.
    unsigned begun = 0;
    unsigned ended = 0;
    bool quiet = false;

    void notify() {
        events.fetch_add(1, std::memory_order_acq_rel);
        for (unsigned i = 0; i < Workers; ++i) {
            park::wake(events);
        }
    }
    void run(unsigned me, submission_queue<atom>::node* n, bool async) {
        check(!quiet, "a unit runs after the end");
        unit& u = *static_cast<unit*>(n);
        const unsigned k = u.payload;
        check(k != 0, "a unit without what was written for it");
        if (Nested && !async) {
            unit& more = units[Submitters + k - 1];
            more.payload = k;
            ++begun;
            counts[me].begin();
            asyncs.push(&more);
            notify();
        }
        ++ended;
        counts[me].end();
    }
    [[nodiscard]] bool work(unsigned me) {
        if (auto* n = asyncs.pop()) {
            run(me, n, true);
            return true;
        }
        if (auto* n = submissions.pop()) {
            run(me, n, false);
            return true;
        }
        return false;
    }
    void worker(unsigned me) {
        for (;;) {
            const std::uint32_t epoch = events.load(std::memory_order_acquire);
            if (work(me)) {
                continue;
            }
            if (stop.load(std::memory_order_acquire)) {
                return;
            }
            // sleeper::sleep(): the shutdown first, then a last look, which sleepers::sleep() makes with
            // fences.
            end.worker_is_idle();
            atom::fence_sc();
            if (asyncs.empty() && submissions.empty()) {
                park::wait(events, epoch);
            } else {
                here().relax(); // another thread holds the queue
            }
        }
    }
    void thread(unsigned i) {
        if (i < Workers) {
            worker(i);
            return;
        }
        if (i < Workers + Submitters) {
            const unsigned k = i - Workers;
            units[k].payload = k + 1;
            if (end.accept()) {
                check(!quiet, "a submission is accepted after the end");
                ++begun;
                submissions.push(&units[k]);
                notify();
            }
            return;
        }
        end.wait_until_quiet(
            Workers, [this](unsigned w) -> auto& { return counts[w]; });
        check(begun == ended, "the end leaves something behind");
        quiet = true;
        stop.store(true, std::memory_order_release);
        notify();
    }
    void finish() { check(begun == ended && quiet, "something was left behind"); }
};

const registered<shutting_down<1, 1, false>> r1("closing_one", "one submitter, one worker, shutdown");
const registered<shutting_down<1, 2, true>> r2("closing_nested",
                                               "a unit that begins another, two workers, shutdown");
const registered<shutting_down<2, 1, false>> r3("closing_submitters", "two submitters, one worker, shutdown");

} // namespace
