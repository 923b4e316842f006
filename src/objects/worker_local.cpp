// The rare half of worker_local: lists of other workers, places, all instances at once.
#include <pilfer/worker_local.hpp>

#include <exception>
#include <new>

#include "base/write.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

instances::~instances() {
    for (auto& piece : m_places) {
        delete[] piece.load(rlx);
    }
}

template <class F>
void instances::each_place(F f) const noexcept {
    for (unsigned piece = 0; piece < pieces; ++piece) {
        if (protocol::place* const p = m_places[piece].load(acq); p != nullptr) {
            for (std::uint32_t i = 0; i < size_of(piece); ++i) {
                f(p[i]);
            }
        }
    }
}

/// Null for a thread outside, for a worker without a number, or without memory.
instances::protocol::place* instances::make_place_locked(const worker* w) noexcept {
    if (w == nullptr || piece_of(w->serial) >= pieces) {
        return nullptr;
    }
    auto& piece = m_places[piece_of(w->serial)];
    if (piece.load(rlx) == nullptr) {
        piece.store(new (std::nothrow) protocol::place[size_of(piece_of(w->serial))], rel);
    }
    return place_of(w->serial);
}

instances::instance* instances::take_cold(worker* w) noexcept {
    m_free.lock();
    protocol::node* n = nullptr;
    if (protocol::place* const mine = make_place_locked(w); mine != nullptr) {
        n = m_free.take(*mine,
                        w->deque.owner().pinned()); // another thread may only have stopped the owners
    }
    if (n == nullptr) {
        n = m_free.take_outside();
    }
    if (n == nullptr && m_first != nullptr) {
        const auto places = [this](auto f) { each_place(f); };
        m_free.stop_owners(places, [&] {
            places([&n](protocol::place& p) {
                if (n == nullptr && p.free.load(rlx) != nullptr) {
                    n = p.free.load(rlx);
                    p.free.store(protocol::below(n), rlx);
                }
            });
        });
    }
    m_free.unlock();
    return static_cast<instance*>(n);
}

void instances::give_cold(worker* w, instance* i) noexcept {
    m_free.lock();
    // While this thread has the lock, no other thread stops the owners.
    protocol::place* const mine = make_place_locked(w);
    if (mine == nullptr || !m_free.give(*mine, i, w->deque.owner().pinned())) {
        m_free.give_outside(i);
    }
    m_free.unlock();
}

void instances::add(instance* i) noexcept {
    m_free.lock();
    (m_first == nullptr ? m_first : m_last->newer) = i;
    m_last = i;
    m_size.store(m_size.load(rlx) + 1, rlx);
    m_free.unlock();
}

bool instances::take_all(instance*& first, instance*& last) noexcept {
    std::size_t found = 0;
    const auto count = [&found](const protocol::node* n) {
        for (; n != nullptr; n = protocol::below(n)) {
            ++found;
        }
    };
    const auto places = [this](auto f) { each_place(f); };
    m_free.lock();
    m_free.stop_owners(places, [&] {
        count(m_free.outside());
        places([&](const protocol::place& p) { count(p.free.load(rlx)); });
        if (found != m_size.load(rlx)) {
            return;
        }
        while (protocol::node* const n = m_free.take_outside()) {
            static_cast<instance*>(n)->home = nullptr;
        }
        places([&](protocol::place& p) {
            for (protocol::node* n = p.free.load(rlx); n != nullptr; n = n->next.load(rlx)) {
                static_cast<instance*>(n)->home = &p;
            }
            p.free.store(nullptr, rlx);
        });
        first = m_first;
        last = m_last;
    });
    const bool all = found == m_size.load(rlx);
    m_free.unlock();
    return all;
}

void instances::give_all(instance* first, instance* last) noexcept {
    if (first == nullptr) {
        return;
    }
    const auto each = [first, last](auto f) {
        for (instance* i = first;; i = i->newer) {
            f(i);
            if (i == last) {
                return;
            }
        }
    };
    each([](instance* i) { san::release(static_cast<protocol::node*>(i)); });
    m_free.lock();
    m_free.stop_owners([this](auto f) { each_place(f); },
                       [&] {
                           each([this](instance* i) {
                               if (i->home == nullptr) {
                                   m_free.give_outside(i);
                                   return;
                               }
                               i->next.store(i->home->free.load(rlx), rlx);
                               i->home->free.store(i, rlx);
                           });
                       });
    m_free.unlock();
}

void destroyed_while_leased() noexcept {
    os::write_error("pilfer: a worker_local was destroyed while an instance of it was leased\n");
    std::terminate();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
