// The work of this rank in one run.
#include "cluster/rank_work.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <pilfer/detail/cluster/bound_word.hpp>
#include <pilfer/detail/cluster/journal.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Of one description or result. MPI counts the bytes of a message by an int.
constexpr std::size_t most_bytes = std::size_t{1} << 30;
constexpr std::size_t most_text = 4096;
constexpr const char* text_of_stopped = "the task was stopped";

[[nodiscard]] std::vector<std::byte> bytes_of(std::string_view text) {
    return text_bytes(text.substr(0, most_text));
}

} // namespace

/// A task from another rank. Another rank may take it again as long as no worker has begun it.
class rank_work::foreign_branch final : public shared_branch {
public:
    foreign_branch(cluster_task& type, parcel&& p) : shared_branch(type), content(std::move(p)) {}
    void write(cluster::archive&) const override {} // its description has been written: see content
    [[nodiscard]] name parcel_name() const noexcept { return {content.origin, content.ticket}; }
    parcel content;
    scope* running = nullptr; // under m_lock
};

rank_work::rank_work(pool& p, std::uint32_t rank, doorbell* waker, bool may_give_up)
    : m_pool(p), m_rank(rank), m_may_give_up(may_give_up), m_bag(p.workers(), this),
      m_here(cluster_bag, &m_bag) {
    m_bell->waker = waker;
    for (const bound_word* b : cluster_bounds()) {
        m_known_bounds.push_back(b->bits());
    }
}

rank_work::~rank_work() = default;

template <class F>
parcel_result rank_work::result_of(F&& f) const noexcept {
    parcel_result r;
    try {
        try {
            cluster::archive out;
            f(out);
            if (out.bytes().size() > most_bytes) {
                throw cluster::archive_error("a result of more than 1 GiB");
            }
            r.bytes = std::move(out.bytes());
            return r;
        } catch (...) {
            throw_as_remote();
        }
    } catch (const cluster::remote_error& e) {
        r.rank = static_cast<std::uint32_t>(e.rank);
        r.bytes = bytes_of(e.what());
    } catch (const stopped&) {
        r.rank = m_rank;
        r.bytes = bytes_of(text_of_stopped);
    }
    r.failed = 1;
    return r;
}

parcel_result rank_work::end_of_stopped() const {
    return {.rank = m_rank, .failed = 1, .bytes = bytes_of(text_of_stopped)};
}

template <class F>
parcel_result rank_work::cancellable_result_of(F&& f) noexcept {
    if (!m_may_give_up) { // a scope may have to wait for a worker at its end
        return result_of(f);
    }
    parcel_result r = end_of_stopped(); // a child of a cancelled scope never starts
    scope task;
    {
        const std::lock_guard hold(m_lock);
        if (m_given_up) {
            task.cancel();
        }
        m_root_scope = &task;
    }
    task.spawn([&] { r = result_of(f); });
    task.sync();
    const std::lock_guard hold(m_lock);
    m_root_scope = nullptr;
    return r;
}

void rank_work::give_up(const std::string& why) {
    {
        const std::lock_guard hold(m_lock);
        m_given_up = true;
        if (m_root_scope != nullptr) {
            m_root_scope->cancel();
        }
        for (const auto& [parcel, b] : m_guests) {
            if (b->running != nullptr) {
                b->running->cancel();
            }
        }
    }
    for (const auto& [ticket, b] : std::exchange(m_shipped, {})) {
        b->ends({.bytes = bytes_of(why), .rank = m_rank, .failed = true});
    }
}

template <class F>
void rank_work::submit(F f) {
    m_tasks.fetch_add(1, rlx); // before the task exists
    try {
        m_pool.submit(std::move(f));
    } catch (...) {
        ends_task();
        throw;
    }
}

void rank_work::start_root(std::function<void(cluster::archive&)> root) {
    submit([this, root = std::move(root)] {
        m_root = cancellable_result_of(root);
        m_root_done.store(true, rel); // is_root_done()
        ring();
        ends_task();
    });
}

bool rank_work::hungry() {
    const bool is_empty = m_bag.size() == 0;
    // The look: what its worker did before is seen. If it came too early, no other one follows at once.
    if (is_empty ? m_bell->idle.load(acq) : m_bell->idle.exchange(false, rlx)) {
        return is_empty;
    }
    // A task of the lowest priority asks the workers: one that begins it has found nothing else. It waits
    // while there are branches, too, and so ends the sleep of the communicating thread when the work ends.
    if (!m_bell->looking.exchange(true, rlx)) {
        try {
            m_pool.submit({.priority = priority::low}, [b = m_bell] {
                b->idle.store(true, rel); // hungry()
                b->looking.store(false, rlx);
                b->ring();
            });
        } catch (...) {
            m_bell->looking.store(false, rlx);
            throw;
        }
    }
    return false;
}

std::vector<parcel> rank_work::take_oldest(std::size_t most) {
    std::vector<parcel> parcels;
    for (shared_branch* b : m_bag.take_half(most)) {
        if (auto* foreign = dynamic_cast<foreign_branch*>(b)) {
            {
                const std::lock_guard hold(m_lock);
                m_guests.erase(foreign->parcel_name());
            }
            parcels.push_back(std::move(foreign->content));
            foreign->ends({});
            continue;
        }
        parcel_result written = result_of([b](cluster::archive& out) {
            if (b->type().number == cluster_task::unnumbered) {
                throw cluster::archive_error("this type of tasks was loaded after the session had begun");
            }
            b->write(out);
        });
        if (written.failed != 0) {
            b->ends({.bytes = std::move(written.bytes), .rank = m_rank, .failed = true});
            continue;
        }
        const std::uint64_t ticket = ++m_last_ticket;
        parcels.push_back({.origin = m_rank,
                           .task = b->type().number,
                           .ticket = ticket,
                           .description = std::move(written.bytes)});
        m_shipped.emplace(ticket, b);
    }
    return parcels;
}

void rank_work::start(parcel&& p) {
    m_bell->idle.store(false, rlx);
    cluster_task* type = cluster_tasks().at(p.task);
    auto owner = std::make_unique<foreign_branch>(*type, std::move(p));
    {
        const std::lock_guard hold(m_lock);
        if (m_unwanted.erase(owner->parcel_name()) != 0) {
            m_finished.push_back({.origin = owner->content.origin, .result = end_of_stopped()});
            m_finished.back().result.ticket = owner->content.ticket;
            return;
        }
        m_guests.emplace(owner->parcel_name(), owner.get());
    }
    foreign_branch* b = owner.release();
    m_bag.put(*b);
    m_open.fetch_add(1, rlx);
    bool is_first = false;
    {
        const std::lock_guard hold(m_lock);
        is_first = m_arrived.empty(); // else the task that takes them has not begun
        m_arrived.push_back(b);
    }
    if (is_first) {
        submit([this] {
            run_arrived();
            ends_task();
        });
    }
}

void rank_work::run_arrived() noexcept {
    std::vector<foreign_branch*> arrived;
    {
        const std::lock_guard hold(m_lock);
        arrived.swap(m_arrived);
    }
    run_all(arrived);
}

void rank_work::run_all(std::span<foreign_branch* const> guests) noexcept {
    if (guests.size() == 1) {
        run(guests.front());
        return;
    }
    const std::size_t half = guests.size() / 2;
    pilfer::join([&] { run_all(guests.first(half)); }, [&] { run_all(guests.subspan(half)); });
}

void rank_work::run(foreign_branch* b) noexcept {
    if (!run_cancellable(*b) && b->is_shipped()) {
        b->wait_to_the_end(); // until its content has been moved away
    }
    delete b;
    if (m_open.fetch_sub(1, rlx) == 1) {
        ring(); // else the next look sends several results in one message
    }
}

bool rank_work::run_cancellable(foreign_branch& b) noexcept {
    scope task;
    {
        const std::lock_guard hold(m_lock); // drop() finds it waiting, or its scope
        if (!m_bag.take_back(b)) {
            return false;
        }
        b.running = &task;
        if (m_given_up) {
            task.cancel();
        }
    }
    bool ended = false;
    const auto ends = [&](parcel_result&& r) {
        const std::lock_guard hold(m_lock);
        b.running = nullptr; // drop() does not see the scope after this
        end_guest(b.parcel_name(), std::move(r));
        ended = true;
    };
    // The child sends its result, because the scope may have to wait for a worker at its end.
    task.spawn([&] {
        ends(result_of([&](cluster::archive& out) {
            cluster::archive in(b.content.description);
            b.type().run(in, out);
        }));
    });
    task.sync();
    if (!ended) { // a child of a cancelled scope never starts
        ends(end_of_stopped());
    }
    return true;
}

void rank_work::end_guest(const name& parcel, parcel_result&& r) {
    m_guests.erase(parcel);
    r.ticket = parcel.second;
    m_finished.push_back({.origin = parcel.first, .result = std::move(r)});
}

std::vector<parcel_result> rank_work::take_unwanted() {
    std::vector<parcel_result> tickets;
    if (m_bag.take_unwanted()) {
        for (const auto& [ticket, b] : m_shipped) {
            if (b->take_unwanted()) {
                tickets.push_back({.ticket = ticket});
            }
        }
    }
    return tickets;
}

void rank_work::drop(std::uint32_t origin, std::uint64_t ticket) {
    const std::lock_guard hold(m_lock);
    const name parcel{origin, ticket};
    const auto at = m_guests.find(parcel);
    if (at == m_guests.end()) {
        m_unwanted.insert(parcel); // it may still come here
        return;
    }
    foreign_branch& b = *at->second;
    if (b.running != nullptr) {
        b.running->cancel();
    } else if (m_bag.take_back(b)) { // run() finds it gone
        end_guest(parcel, end_of_stopped());
    }
}

void rank_work::forget_drop(std::uint32_t origin, std::uint64_t ticket) {
    const std::lock_guard hold(m_lock);
    m_unwanted.erase({origin, ticket});
}

void rank_work::complete(parcel_result&& r) {
    const auto at = m_shipped.find(r.ticket);
    if (at == m_shipped.end()) {
        throw balance_error("the result of a task that no rank was given");
    }
    shared_branch* b = at->second;
    m_shipped.erase(at);
    forget_drop(m_rank, r.ticket); // it does not come back
    b->ends({.bytes = std::move(r.bytes), .rank = r.rank, .failed = r.failed != 0});
}

std::vector<local_work::finished> rank_work::take_finished() {
    std::vector<finished> all;
    const std::lock_guard hold(m_lock);
    all.swap(m_finished);
    return all;
}

std::vector<parcel_result> rank_work::take_bounds() {
    std::vector<parcel_result> better;
    for (std::size_t i = 0; i < m_known_bounds.size(); ++i) {
        const std::uint64_t bits = cluster_bounds()[i]->bits();
        if (bits != m_known_bounds[i]) {
            m_known_bounds[i] = bits;
            parcel_result& r = better.emplace_back();
            r.ticket = i;
            r.bytes.resize(bound_bytes);
            std::memcpy(r.bytes.data(), &bits, bound_bytes);
        }
    }
    return better;
}

void rank_work::learn_bound(const parcel_result& r) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, r.bytes.data(), bound_bytes); // decode() has checked the size
    if (cluster_bounds()[r.ticket]->learn(bits)) {
        m_known_bounds[r.ticket] = bits; // all other ranks get it from its sender
    }
}

std::vector<parcel_result> rank_work::take_parts() {
    journal* j = journal::current.load(acq);
    std::vector<parcel_result> parts;
    if (j != nullptr && !j->has_file()) {
        for (saved_part& p : j->take_unsent()) {
            parcel_result& r = parts.emplace_back();
            r.ticket = p.part;
            r.bytes = std::move(p.value);
        }
    }
    return parts;
}

void rank_work::keep_part(parcel_result&& r) {
    journal* j = journal::current.load(acq);
    if (j == nullptr || !j->has_file() || r.ticket >= j->parts()) {
        throw balance_error("a part of a journal that this rank does not write");
    }
    j->keep({r.ticket, std::move(r.bytes)});
}

void rank_work::bell::ring() noexcept {
    events.fetch_add(1,
                     std::memory_order_seq_cst); // either sleep() sees this event, or `sleeps` is seen here
    if (sleeps.load(std::memory_order_seq_cst)) {
        waker != nullptr ? waker->ring() : futex_park::wake(events);
    }
}

void rank_work::sleep(std::uint32_t seen, std::uint64_t ns) noexcept {
    m_bell->sleeps.store(true, std::memory_order_seq_cst);
    if (m_bell->events.load(std::memory_order_seq_cst) == seen) {
        if (doorbell* const a = m_bell->waker; a != nullptr) {
            a->wait(ns);
        } else {
            futex_park::wait_for(m_bell->events, seen, ns);
        }
    }
    m_bell->sleeps.store(false, rlx);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
