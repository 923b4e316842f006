// Shared by the harnesses of cancellation: scopes, and a process of workers that cancellations reach.
#pragma once

#include <pilfer/detail/base/signal_word.hpp>
#include <pilfer/detail/cancel/waits.hpp>
#include <pilfer/detail/context/scope_node.hpp>

#include "waiting.hpp"

namespace model::cancelling {

using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::rlx;
namespace cancel_flag = pilfer::detail::cancel_flag;

struct head {
    model::atomic<std::uint32_t> cancel_state{0};
    const void* against = nullptr;
    model::atomic<std::uint64_t> noted{3}; // what an earlier node has left there
    [[nodiscard]] std::uint64_t clear_in() const { return noted.load(rlx); }
    void set_clear_in(std::uint64_t epoch) { noted.store(epoch, rlx); }
    [[nodiscard]] const void* shielded() const noexcept { return against; }
};
using link = pilfer::detail::basic_scope_node<atom, head>;
using signal_word = pilfer::detail::signal_word<atom>;
using cancellable = pilfer::detail::cancellable_waits<hasty_atom, park, link>;

/// A scope in its owner's frame.
struct scope {
    explicit scope(link* above) : place(above) {}
    link place;
    model::atomic<unsigned> ended{0}; // children, each its last access
};

struct worker {
    signal_word trip{100};
    cancellable stoppable;
    pilfer::detail::look_guard<atom> looks_up;
};

template <unsigned Workers>
struct process {
    worker workers[Workers];
    pilfer::detail::cancellations<hasty_atom, park> all;

    [[nodiscard]] auto each_trip() {
        return [this](auto tell) {
            for (worker& w : workers) {
                tell(w.trip);
            }
        };
    }
    /// scope::cancel()
    void cancel(scope& s) {
        all.request(s.place.head().cancel_state, each_trip(), [this, &s] {
            for (worker& w : workers) {
                w.stoppable.stop_below(s.place);
            }
        });
    }
    /// cancellation::stopped_at()
    [[nodiscard]] bool stopped_at(worker& w, link* place, bool propagates = true) {
        if (!w.trip.has(signal_word::stop) || !w.trip.has_and_sees(signal_word::stop)) {
            return false;
        }
        const std::uint64_t epoch = all.epoch();
        return w.looks_up.during(false, [=] { return pilfer::detail::is_stopped(place, epoch, propagates); });
    }
    /// The end of a sync: the children have ended.
    void end_of_round(scope& s, unsigned children) {
        while (s.ended.load(acq) != children) {
            here().relax();
        }
        if ((s.place.head().cancel_state.exchange(0, rlx) & cancel_flag::cancelled) != 0) {
            all.over(each_trip());
        }
    }
    void check_quiet() {
        for (worker& w : workers) {
            check(!w.trip.has(signal_word::stop), "the bit stays behind the last cancellation");
        }
    }
};

} // namespace model::cancelling
