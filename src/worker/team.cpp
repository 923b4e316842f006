#include "worker/team.hpp"

#include <algorithm>
#include <utility>

#include "platform/cpus.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

team::team(pool_core& self, const options& checked, const plan& how)
    : stacks(&self, checked.stack_size, checked.max_contexts, how.places.workers + how.places.seats),
      m_options(checked), m_plan(how), m_first_spare(how.places.workers),
      m_size(m_first_spare + how.places.seats), m_active(checked.workers), m_cpus(os::affinity_cpus()),
      m_oversubscribed(checked.workers > m_cpus) {
    m_backend = how.make(*this);
    make_workers(self);
    make_seats();
}

team::~team() = default;

void team::make_workers(pool_core& self) {
    for (unsigned i = 0; i < m_size + m_plan.places.temporary; ++i) {
        m_workers.push_back(std::make_unique<scheduler>(*this, self, i, m_plan.places.pinned));
    }
}

void team::make_seats() {
    const unsigned words = (m_size + 63) / 64;
    m_seats = std::make_unique<pool_sleepers::seat[]>(m_size);
    m_map = std::make_unique<pool_sleepers::map_word[]>(words);
    m_retired = std::make_unique<pool_sleepers::map_word[]>(words);
    m_idle = std::make_unique<pool_sleepers>(m_seats.get(), m_map.get(), m_size, m_retired.get());
}

void team::has_threads(unsigned made) noexcept {
    const unsigned wanted = m_options.workers;
    m_options.workers = made;
    (void)set_active(made);
    if (m_options.max_workers == wanted) {
        m_options.max_workers = made;
    }
    if (m_first_spare == wanted) {
        m_first_spare = made;
        m_size = made + m_plan.places.seats;
        m_idle->shrink(m_size);
    }
    for (unsigned i = made; i < m_first_spare; ++i) {
        m_idle->seat_empty(i, true);
    }
}

void team::queue_counted(submission* s, priority level) noexcept {
    san::release(static_cast<spark*>(s));
    if (m_bound != nullptr) {
        m_bound->take_anyway();
    }
    m_backend->queue(*s, level, origin::alarm);
}

void team::add(service& s) noexcept {
    service** at = &m_services;
    while (*at != nullptr) {
        at = &(*at)->m_next;
    }
    *at = &s;
}

instant team::first_due() const noexcept {
    instant first = never;
    each_service([&first](const service& s) { first = std::min(first, s.first_due()); });
    return first;
}

void team::wait_for_pins() const noexcept {
    for (unsigned round = 0; m_pins.load(acq) != 0; ++round) {
        std_atom::relax(round);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
