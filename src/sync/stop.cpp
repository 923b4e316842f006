// A stop token for functions that a stopped task has called.
#include <pilfer/stop.hpp>

#include "cancel/cancellation.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {

using namespace detail;

namespace detail {

struct stop_relay : decltype(cancel_seat::stoppable)::waiter {
    decltype(cancel_seat::stoppable)* list = nullptr;
    std::unique_ptr<stop_request> source; // the canceller takes it
};

} // namespace detail

stop_on_cancel::stop_on_cancel() {
    worker* w = this_worker();
    if (w == nullptr) {
        return;
    }
    // Not in a scope that may end before this object.
    scope_node* const node = place_below(w->current.load(rlx)->node.load(rlx));
    if (scope_node::strip(node) == nullptr || scope_node::holds(node)) {
        return; // no cancellation reaches this task here
    }
    m_relay = std::make_unique<stop_relay>();
    m_relay->source.reset(new stop_request(m_source));
    m_relay->node = node;
    m_relay->stop = [](decltype(cancel_seat::stoppable)::waiter& self) noexcept {
        cancellation::add_request(static_cast<stop_relay&>(self).source.release());
    };
    m_relay->list = &cancel_seat::of(w).stoppable;
    m_relay->list->add(*m_relay);
    if (stopped_here(w)) { // cancel.C2
        m_source.request_stop();
    }
}

stop_on_cancel::~stop_on_cancel() {
    if (m_relay != nullptr) {
        m_relay->list->remove(*m_relay);
    }
}

} // namespace v0
} // namespace pilfer
