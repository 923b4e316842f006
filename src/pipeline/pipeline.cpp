// How tasks carry items through the stages of a pipeline.
#include <pilfer/detail/base/test_point.hpp>
#include <pilfer/detail/pipeline/plan.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pipeline/gate.hpp"
#include "scope/nesting.hpp"
#include <pilfer/detail/base/park.hpp>
#include <pilfer/detail/base/race.hpp>
#include <pilfer/detail/base/ticks.hpp>
#include <pilfer/detail/cancel/points.hpp>
#include <pilfer/event.hpp>
#include <pilfer/scope.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

using gate = stage_gate<std_atom, futex_park>;
using item = pipeline_item<std_atom>;

/// The memory of all records. It is touched as records are made.
class item_store {
public:
    explicit item_store(const pipeline_plan& p)
        : m_align(std::max({p.value_align, alignof(item), line_bytes})),
          m_values(rounded(sizeof(item), p.value_align)), m_slot(rounded(p.value_bytes, p.value_align)),
          m_bytes(rounded(m_values + 2 * m_slot, m_align)) {
        if (p.tokens > std::numeric_limits<std::size_t>::max() / 2 / m_bytes) {
            throw std::bad_alloc();
        }
        m_begin = static_cast<std::byte*>(::operator new (p.tokens* m_bytes, std::align_val_t{m_align}));
    }
    item_store(const item_store&) = delete;
    item_store& operator=(const item_store&) = delete;
    ~item_store() { ::operator delete (m_begin, std::align_val_t{m_align}); }

    [[nodiscard]] item* make(std::size_t n) noexcept { return ::new (m_begin + n * m_bytes) item; }
    [[nodiscard]] item* at(std::size_t n) noexcept {
        return std::launder(reinterpret_cast<item*>(m_begin + n * m_bytes));
    }
    /// The memory of the value that stage `s` makes. A stage reads one half of the record and writes the
    /// other, so that no value is moved for its sake.
    [[nodiscard]] void* value(item* i, std::size_t s) const noexcept {
        return reinterpret_cast<std::byte*>(i) + m_values + (s % 2) * m_slot;
    }

private:
    [[nodiscard]] static std::size_t rounded(std::size_t bytes, std::size_t align) noexcept {
        return (bytes + align - 1) / align * align;
    }
    std::size_t m_align;
    std::size_t m_values;
    std::size_t m_slot;
    std::size_t m_bytes;
    std::byte* m_begin = nullptr;
};

/// A stage, and its gate if it is serial.
struct alignas(line_bytes) station {
    const stage_entry* entry;
    std::unique_ptr<item*[]> ring;
    std::optional<gate> at;
};

/// Whether items are so short that one task carries them faster than two: a handshake between two workers
/// takes longer. All words are hints, so their accesses are relaxed.
class item_length {
public:
    static constexpr unsigned sample = 32;

    [[nodiscard]] bool is_short() const noexcept {
#if defined(PILFER_TEST)
        if (loops_are_fixed()) {
            return false; // the clock is in no recording
        }
#endif
        return m_is_short.load(rlx);
    }
    /// How often a task has measured.
    [[nodiscard]] std::uint64_t samples() const noexcept { return m_samples.load(rlx); }
    /// `ticks`: of `sample` items, one after another in one task.
    void took(std::uint64_t ticks) noexcept {
        m_is_short.store(ticks < m_limit, rlx);
        m_samples.store(m_samples.load(rlx) + 1, rlx);
    }
    void is_unknown() noexcept { m_is_short.store(false, rlx); }

private:
    const std::uint64_t m_limit = piece_ticks() * sample / 16; // a quarter of a microsecond for each
    std::atomic<bool> m_is_short{false};
    std::atomic<std::uint64_t> m_samples{0};
};

/// The items that a task has fetched since it last looked at the clock.
struct fetched_items {
    std::uint64_t since = cheap_ticks();
    unsigned count = 0;
};

#if defined(PILFER_RACE)
/// The order of the calls, for `pilfer race`. A call comes after the one before it for its item, and in a
/// serial stage after the one for the item before it. If there are n tokens, a call of the source comes after
/// the item n before has passed the last stage that is serial in order. The reason is that the source has
/// waited until that item, or a later one, has ended.
class call_order {
public:
    explicit call_order(const pipeline_plan& p)
        : m_plan(p), m_ends(p.count), m_passes(p.tokens == 1 ? p.count - 1 : 0) {
        for (std::size_t s = 1; s < p.count; ++s) {
            if (p.stages[s].order == stage_order::as_they_come) {
                race::cannot_follow("stages that are serial out of order");
            } else if (p.stages[s].order == stage_order::in_order) {
                m_passes = std::max(m_passes, s);
            }
        }
    }
    call_order(const call_order&) = delete;
    call_order& operator=(const call_order&) = delete;
    ~call_order() {
        std::for_each(m_ends.begin(), m_ends.end(), race::ordered_tasks::forget);
        std::for_each(m_passed.begin(), m_passed.end(), race::ordered_tasks::forget);
        for (auto& [i, end] : m_items) {
            race::ordered_tasks::forget(end);
        }
    }
    /// The strand in which stage `s` is called with `i`, and makes a value at `out`.
    [[nodiscard]] race::strand start(const item* i, std::size_t s, void* out) {
        race::fresh(out, m_plan.value_bytes); // another item may have been here
        race::task_start after;
        if (is_serial(s)) {
            race::ordered_tasks::add_edge(m_ends[s], after);
        }
        if (s != 0) {
            race::ordered_tasks::add_edge(m_items[i], after);
        } else if (m_passes != 0) {
            race::ordered_tasks::add_edge(passed(m_fetched), after);
        }
        return m_tasks.start(after);
    }
    void note_end(const item* i, std::size_t s, bool made) {
        m_tasks.note_end(m_items[i]);
        if (is_serial(s)) {
            m_tasks.note_end(m_ends[s]);
        }
        if (s == 0 && made) {
            ++m_fetched;
        } else if (s != 0 && s == m_passes) {
            m_tasks.note_end(passed(i->ticket));
        }
    }

private:
    [[nodiscard]] bool is_serial(std::size_t s) const noexcept {
        return m_plan.stages[s].order != stage_order::parallel;
    }
    [[nodiscard]] race::task_end& passed(std::uint64_t ticket) {
        const std::uint64_t at = ticket % m_plan.tokens;
        if (at >= m_passed.size()) {
            m_passed.resize(at + 1);
        }
        return m_passed[at];
    }

    const pipeline_plan& m_plan;
    race::ordered_tasks m_tasks{race::how::pipeline_stage};
    std::vector<race::task_end> m_ends;   // of serial stages
    std::vector<race::task_end> m_passed; // of the calls of stage `m_passes`, by item modulo tokens
    std::unordered_map<const item*, race::task_end> m_items;
    std::size_t m_passes; // the last stage that items pass in order; 0: none but the source
    std::uint64_t m_fetched = 0;
};
#endif

/// A pipeline that runs, in the frame of its call.
class line {
public:
    explicit line(const pipeline_plan& p) : m_plan(p), m_store(p), m_stations(p.count), m_tokens(p.tokens) {
        const std::uint64_t slots = std::bit_ceil(std::uint64_t{p.tokens});
        for (std::size_t s = 1; s < p.count; ++s) {
            station& here = m_stations[s];
            here.entry = &p.stages[s];
            if (here.entry->order == stage_order::in_order) {
                here.ring = std::make_unique<item*[]>(slots);
            }
            if (here.entry->order != stage_order::parallel) {
                here.at.emplace(here.ring.get(), slots);
            }
        }
    }
    line(const line&) = delete;
    line& operator=(const line&) = delete;
    /// Destroys the values of items that are not through.
    ~line() {
        for (std::size_t n = 0; n < m_tokens.made(); ++n) {
            item* const i = m_store.at(n);
            if (i->stage != 0) {
                m_plan.stages[i->stage - 1].destroy(m_store.value(i, i->stage - 1));
            }
        }
    }

    /// Called by the task that owns the pipeline.
    void run() {
        {
#if defined(PILFER_RACE)
            call_order order(m_plan);
            m_order = &order;
#endif
            scope tasks;
            m_tasks = &tasks;
            work(nullptr, false, {});
            try {
                tasks.sync();
            } catch (const stopped&) { // after all tasks have ended
                fail();
            }
        }
        if (m_error != nullptr) {
            note_suppressed(m_others);
            std::rethrow_exception(m_error);
        }
        if (!m_tokens.is_done()) { // the scope was cancelled, and has dropped tasks
            throw stopped();
        }
    }

private:
    using trip = signal_word<std_atom>;
    /// Counts a task while it carries items.
    struct carrier {
        explicit carrier(std::atomic<unsigned>& all) noexcept : count(all) { count.fetch_add(1, rlx); }
        carrier(const carrier&) = delete;
        carrier& operator=(const carrier&) = delete;
        ~carrier() { count.fetch_sub(1, rlx); }
        std::atomic<unsigned>& count;
    };

    /// Carries `i`, then items of the source, until there is nothing left to do here.
    void work(item* i, bool is_scout, nesting here) noexcept {
        try {
            if (i == nullptr) {
                look();
                if (is_scout) {
                    stand_by(here);
                }
                i = claim(is_scout);
            }
            const carrier counted(m_carriers);
            fetched_items own;
            while (!m_has_failed.load(rlx) && (i != nullptr || (i = take_kept()) != nullptr)) {
                i = i->stage == 0 ? fetch(i, here, own) : carry(i, here);
            }
        } catch (...) {
            fail();
        }
    }
    /// Waits while items are short and another task carries them. An item that waits lets the next one begin
    /// after a millisecond. A scout that is a call of its forker does not wait for it.
    void stand_by(nesting here) {
        while (m_length.is_short() && m_carriers.load(rlx) != 0 && !here.is_call()) {
            const std::uint64_t before = m_length.samples();
            if (m_is_ending.wait_for(std::chrono::milliseconds(1))) {
                return;
            }
            if (m_length.samples() == before) {
                m_length.is_unknown();
            }
        }
    }
    /// Calls the source, to which the caller has the right. Returns `i`, or null if the input has ended.
    [[nodiscard]] item* fetch(item* i, nesting here, fetched_items& own) {
        if (++own.count == item_length::sample) {
            const std::uint64_t now = cheap_ticks();
            m_length.took(now - own.since);
            own = {now, 0};
        }
        const stage_entry& source = m_plan.stages[0];
        if (!call(source, i, 0, nullptr)) {
            ended(i);
            m_is_ending.set();
            return nullptr;
        }
        i->stage = 1;
        if (filled(i)) {
            fork_scout(here);
        }
        return i;
    }
    /// Takes `i` one stage further. Returns the item to go on with; null: none.
    [[nodiscard]] item* carry(item* i, nesting nested) {
        station& here = m_stations[i->stage];
        look();
        if (!here.at) {
            call(here, i);
            return goes_on(i) ? i : go_back(i, nested);
        }
        if (!enter(here, i)) {
            return claim(false);
        }
        for (;;) {
            call(here, i);
            item* const next = leave(here);
            if (next == nullptr) {
                return goes_on(i) ? i : go_back(i, nested);
            }
            // The stage is what others wait for, so this task stays in it. Another one carries `i` further.
            if (goes_on(i)) {
                fork_carrier(i, nested);
            } else if (give_back(i)) {
                fork_scout(nested);
            }
            i = next;
            look();
            if (m_has_failed.load(rlx)) {
                return nullptr;
            }
        }
    }
    /// The item of `i` is through. Returns `i` if this task fetches another item with it.
    [[nodiscard]] item* go_back(item* i, nesting nested) {
        if (m_length.is_short() && m_carriers.load(rlx) > 1) {
            if (give_back(i)) {
                fork_scout(nested);
            }
            return nullptr;
        }
        return reuse(i);
    }
    /// Calls the function of stage `s`, and for `pilfer race` in its order.
    [[nodiscard]] PILFER_ALWAYS_INLINE bool call(const stage_entry& stage, item* i, std::size_t s, void* in) {
        void* const out = m_store.value(i, s);
#if defined(PILFER_RACE)
        const race::running here(m_order->start(i, s, out), nullptr);
        const bool made = stage.call(stage.function, in, out);
        m_order->note_end(i, s, made);
        return made;
#else
        return stage.call(stage.function, in, out);
#endif
    }
    void call(const station& here, item* i) {
        const std::size_t s = i->stage;
        (void)call(*here.entry, i, s, m_store.value(i, s - 1));
        i->stage = s + 1 < m_plan.count ? s + 1 : 0;
    }
    [[nodiscard]] static bool goes_on(const item* i) noexcept { return i->stage != 0; }
    // Each step at a gate or at the tokens is one operation of a recording.
    [[nodiscard]] static bool enter(station& here, item* i) noexcept {
        PILFER_TEST_ORDER("comes to a stage of a pipeline", &here);
        return here.at->enter(i);
    }
    [[nodiscard]] static item* leave(station& here) noexcept {
        PILFER_TEST_ORDER("leaves a stage of a pipeline", &here);
        return here.at->leave();
    }
    [[nodiscard]] bool filled(item* i) noexcept {
        PILFER_TEST_ORDER("has an item for a pipeline", this);
        return m_tokens.filled(i);
    }
    void ended(item* i) noexcept {
        PILFER_TEST_ORDER("has no more items for a pipeline", this);
        m_tokens.ended(i);
    }
    [[nodiscard]] item* reuse(item* i) noexcept {
        PILFER_TEST_ORDER("goes on with an item of a pipeline", this);
        return m_tokens.reuse(i);
    }
    [[nodiscard]] bool give_back(item* i) noexcept {
        PILFER_TEST_ORDER("gives back an item of a pipeline", this);
        return m_tokens.give_back(i);
    }
    void withdraw() noexcept {
        PILFER_TEST_ORDER("forks no task of a pipeline", this);
        m_tokens.withdraw();
    }
    /// Returns a record and the right to call the source. Null: there is nothing to fetch.
    [[nodiscard]] item* claim(bool is_scout) noexcept {
        PILFER_TEST_ORDER("comes for an item of a pipeline", this);
        return m_tokens.claim([this](std::size_t n) { return m_store.make(n); }, is_scout);
    }
    /// Forks a task that goes for the next item of the source.
    void fork_scout(nesting here) {
        if (here.is_deep()) {
            withdraw();
            return;
        }
        m_tasks->fork([this, from = here.forked()] { work(nullptr, true, from.begun()); });
    }
    /// Forks a task that carries `i` further.
    void fork_carrier(item* i, nesting here) {
        if (here.is_deep()) {
            PILFER_TEST_ORDER("keeps an item of a pipeline", this);
            m_lock.lock(); // pipeline.E6
            i->next = m_kept.load(rlx);
            m_kept.store(i, rlx);
            m_lock.unlock();
            return;
        }
        m_tasks->fork([this, i, from = here.forked()] { work(i, false, from.begun()); });
    }
    /// An item that was to be carried by a fork too deep. The task that kept it looks before it ends.
    [[nodiscard]] item* take_kept() noexcept {
        PILFER_TEST_ORDER("looks for a kept item of a pipeline", this);
        if (m_kept.load(rlx) == nullptr) {
            return nullptr;
        }
        m_lock.lock(); // pipeline.E6
        item* const i = m_kept.load(rlx);
        if (i != nullptr) {
            m_kept.store(i->next, rlx);
        }
        m_lock.unlock();
        return i;
    }
    /// Between two stages: leaves if this task is stopped, and answers other threads that want this worker.
    static void look() {
        if (this_worker()->deque.signal().has(trip::asked)) [[unlikely]] {
            look_cold();
        }
    }
    PILFER_COLD static void look_cold() {
        worker* w = this_worker();
        if (w->deque.signal().has(trip::stop)) {
            leave_if_stopped();
            w = this_worker();
        }
        if (w->deque.signal().has(trip::yield_request) || w->deque.thief().has_any()) {
            attend(w);
        }
    }
    /// In a handler: notes its exception. The first one is rethrown, but a `stopped` only if there is no
    /// other.
    PILFER_COLD void fail() noexcept {
        PILFER_TEST_CANNOT_REPEAT("an exception in a pipeline"); // others look at m_has_failed at any time
        std::exception_ptr error = caught_error();
        const bool is_stopped = says_stopped(error);
#if defined(PILFER_RACE)
        race::cannot_follow(race::left_out);
#endif
        m_lock.lock(); // pipeline.E4
        if (m_error == nullptr || (m_is_stopped && !is_stopped)) {
            std::swap(m_error, error);
            m_is_stopped = is_stopped;
        } else if (!is_stopped) {
            ++m_others;
        }
        m_lock.unlock();
        m_has_failed.store(true, rlx); // a hint: what is read after it comes by pipeline.E5
        m_is_ending.set();
    }

    const pipeline_plan& m_plan;
    item_store m_store;
    std::vector<station> m_stations;
    scope* m_tasks = nullptr;
#if defined(PILFER_RACE)
    call_order* m_order = nullptr;
#endif
    std::atomic<bool> m_has_failed{false};
    raw_lock<std_atom, futex_park> m_lock; // of the errors, and of the list of kept items
    std::atomic<item*> m_kept{nullptr};
    bool m_is_stopped = false;
    std::exception_ptr m_error;
    std::uint64_t m_others = 0;
    item_length m_length;
    std::atomic<unsigned> m_carriers{0}; // tasks that carry items; a hint
    event m_is_ending;                   // the source has ended, or a stage has failed
    alignas(line_bytes) token_box<std_atom, futex_park> m_tokens;
};

} // namespace

void run_pipeline(const pipeline_plan& plan) {
    if (plan.tokens == 0) {
        throw std::invalid_argument("pilfer: a pipeline has at least one token");
    }
    line(plan).run();
}

} // namespace detail
} // namespace v0
} // namespace pilfer
