// Shared by the harnesses of cancellation: scopes, and a process of workers that cancellations reach.
#pragma once

#include <pilfer/detail/base/signal_word.hpp>
#include <pilfer/detail/cancel/cancel.hpp>
#include <pilfer/detail/cancel/mark.hpp>

#include "waiting.hpp"

namespace model::cancelling {

using pilfer::detail::acq;
using pilfer::detail::rel;
using pilfer::detail::rlx;
namespace disturb = pilfer::detail::disturb;

struct head {
    model::atomic<std::uint32_t> disturbed{0};
    const void* against = nullptr;
    [[nodiscard]] const void* shielded() const noexcept { return against; }
};
using link = pilfer::detail::scope_link<atom, head>;
using signal_word = pilfer::detail::signal_word<atom>;
using stop_list = pilfer::detail::stop_list<hasty_atom, park, link>;

/// A scope in its owner's frame.
struct scope {
    explicit scope(link* above) : place(above) {}
    link place;
    model::atomic<unsigned> ended{0}; // children, each its last access
};

struct worker {
    signal_word trip{100};
    stop_list stoppable;
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
        all.request(s.place.head().disturbed, each_trip(), [this] {
            for (worker& w : workers) {
                w.stoppable.tell();
            }
        });
    }
    /// stops::stopped_at()
    [[nodiscard]] static bool stopped_at(worker& w, link* place, bool tells = true) {
        if (!w.trip.has(signal_word::stop) || !w.trip.has_and_sees(signal_word::stop)) {
            return false;
        }
        return w.looks_up.during(false, [place, tells] { return pilfer::detail::is_stopped(place, tells); });
    }
    /// The end of a sync: the children have ended.
    void end_of_round(scope& s, unsigned children) {
        while (s.ended.load(acq) != children) {
            here().relax();
        }
        if ((s.place.head().disturbed.exchange(0, rlx) & disturb::requested) != 0) {
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
