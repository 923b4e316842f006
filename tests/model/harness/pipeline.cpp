// A pipeline: each item passes each stage once, an ordered stage in order, and what a call of a serial stage
// writes is seen by the next one. The loops of src/pipeline/pipeline.cpp are copied: they fork tasks.
#include "pipeline/gate.hpp"

#include "../harness.hpp"

namespace {

using namespace model;
using namespace pilfer::detail;

using item = pipeline_item<atom>;
using gate = stage_gate<atom, park>;

/// The beginning of a task.
struct start {
    item* carried = nullptr; // null: for the source
    bool is_scout = false;
};

/// Two threads run the tasks of a pipeline of a source, two parallel stages with a serial stage between them.
/// `Ordered`: the serial stage takes the items in their order. `IsLast`: it is the last one.
template <unsigned Items, unsigned Tokens, bool Ordered, bool IsLast>
struct line {
    static constexpr unsigned threads = 2;
    static constexpr unsigned slots = Tokens == 1 ? 1 : 2;
    static constexpr std::size_t serial = 2;
    static constexpr std::size_t count = IsLast ? 3 : 4;

    plain<item*> ring[slots] = {};
    gate g{Ordered ? ring : nullptr, slots};
    token_box<atom, park> tokens{Tokens};
    item records[Tokens];
    plain<unsigned> value[Tokens]; // of the item in each record
    plain<unsigned> given = 0;     // by the source
    plain<unsigned> in_order = 0;  // by the serial stage
    unsigned in_flight = 0;        // of the checker, as all that follows
    unsigned calls[Items][4] = {};

    // The tasks that have not started, and how many have not ended.
    raw_lock<atom, park, 0> lock;
    plain<unsigned> queued = 0;
    plain<unsigned> left = 1;
    plain<item*> carried[Tokens + 2];
    plain<bool> scout[Tokens + 2];

    static_assert(Tokens <= 2);

    line() {
        queued = 1;
        carried[0] = nullptr;
        scout[0] = false;
    }
    void fork(start s) {
        lock.lock();
        check(queued < Tokens + 2, "more tasks than tokens and a scout");
        carried[queued] = s.carried;
        scout[queued] = s.is_scout;
        queued = queued + 1;
        left = left + 1;
        lock.unlock();
    }
    item* make(std::size_t n) {
        check(n < Tokens, "more records than tokens");
        return &records[n];
    }
    item* claim(bool is_scout) {
        return tokens.claim([this](std::size_t n) { return make(n); }, is_scout);
    }
    item* fetch(item* i) {
        if (given == Items) {
            tokens.ended(i);
            return nullptr;
        }
        check(++in_flight <= Tokens, "more items than tokens");
        value[i - records] = given;
        given = given + 1;
        ++calls[value[i - records]][0];
        i->stage = 1;
        if (tokens.filled(i)) {
            fork({nullptr, true});
        }
        check(i->ticket == value[i - records], "an item has the number of another one");
        return i;
    }
    void call(item* i) {
        const std::size_t s = i->stage;
        const unsigned v = value[i - records];
        if (s == serial) {
            check(!Ordered || in_order == v, "an item came out of order");
            in_order = in_order + 1;
        }
        ++calls[v][s];
        i->stage = s + 1 < count ? s + 1 : 0;
        in_flight -= s + 1 == count ? 1 : 0;
    }
    item* carry(item* i) {
        if (i->stage != serial) {
            call(i);
            return i->stage != 0 ? i : tokens.reuse(i);
        }
        if (!g.enter(i)) {
            return claim(false);
        }
        for (;;) {
            call(i);
            item* const next = g.leave();
            if (next == nullptr) {
                return i->stage != 0 ? i : tokens.reuse(i);
            }
            if (i->stage != 0) {
                fork({i, false});
            } else if (tokens.give_back(i)) {
                fork({nullptr, true});
            }
            i = next;
        }
    }
    void work(start s) {
        item* i = s.carried != nullptr ? s.carried : claim(s.is_scout);
        while (i != nullptr) {
            i = i->stage == 0 ? fetch(i) : carry(i);
        }
    }
    void thread(unsigned) {
        for (unsigned round = 0;; ++round) {
            lock.lock();
            const bool is_over = left == 0;
            const bool has = queued != 0;
            start s;
            if (has) {
                queued = queued - 1;
                s = {carried[queued], scout[queued]};
            }
            lock.unlock();
            if (has) {
                work(s);
                lock.lock();
                left = left - 1;
                lock.unlock();
            } else if (is_over) {
                return;
            } else {
                atom::relax(round);
            }
        }
    }
    void finish() {
        check(tokens.is_done(), "an item was forgotten");
        for (auto& item_calls : calls) {
            for (std::size_t s = 0; s < count; ++s) {
                check(item_calls[s] == 1, "a stage did not have each item once");
            }
        }
    }
};

const registered<line<2, 2, true, true>> r1("pipeline_ordered",
                                            "an ordered last stage, as many items as tokens");
const registered<line<3, 2, true, true>> r2("pipeline_reuses",
                                            "an ordered last stage, a record for two items");
const registered<line<2, 2, true, false>> r3("pipeline_goes_on", "an ordered stage, and one after it");
const registered<line<3, 2, false, true>> r4("pipeline_as_they_come", "a serial last stage without an order");
const registered<line<2, 2, false, false>> r5("pipeline_unordered_goes_on",
                                              "a serial stage, and one after it");
const registered<line<3, 1, true, true>> r6("pipeline_one_token", "one token: a plain loop, on any thread");

} // namespace
