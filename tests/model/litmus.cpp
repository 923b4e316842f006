// Litmus tests of the checker itself: exactly the outcomes that C++20 allows, load buffering left out.
// Names as in Alglave, Maranget and Tautschnig, "Herding cats", TOPLAS 2014.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "harness.hpp"

namespace {

using namespace model;
using testing::Contains;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr auto rlx = std::memory_order_relaxed;
constexpr auto acq = std::memory_order_acquire;
constexpr auto rel = std::memory_order_release;
constexpr auto acq_rel = std::memory_order_acq_rel;
constexpr auto sc = std::memory_order_seq_cst;

using outcome = std::array<int, 4>;
std::set<outcome> seen;

/// All outcomes of H, and whether an execution failed.
template <class H>
std::set<outcome> outcomes() {
    seen.clear();
    const harness h = registered<H>::of("litmus", "");
    exhaustive s(20, 20);
    while (s.begin()) {
        const result& r = here().run(h, s);
        EXPECT_FALSE(r.failed) << r.message;
    }
    return seen;
}

/// True if some execution of H is reported with `text`.
template <class H>
bool reports(const char* text) {
    const harness h = registered<H>::of("litmus", "");
    exhaustive s(20, 20);
    while (s.begin()) {
        const result& r = here().run(h, s);
        if (r.failed && r.message.find(text) != std::string::npos) {
            return true;
        }
    }
    return false;
}

/// x, y and four results; `finish` notes them.
struct litmus {
    atomic<int> x{0};
    atomic<int> y{0};
    int r[4] = {-1, -1, -1, -1};
    void finish() { seen.insert({r[0], r[1], r[2], r[3]}); }
};

enum class between { nothing, fence, light, heavy };

template <between What>
void separate() {
    if constexpr (What == between::fence) {
        atom::fence_sc();
    } else if constexpr (What == between::light) {
        atom::light_fence();
    } else if constexpr (What == between::heavy) {
        atom::heavy_fence();
    }
}

// ---- store buffering --------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load, between First, between Second>
struct store_buffering : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, Store);
            separate<First>();
            r[0] = y.load(Load);
        } else {
            y.store(1, Store);
            separate<Second>();
            r[1] = x.load(Load);
        }
    }
};

constexpr outcome both_stale = {0, 0, -1, -1};

TEST(litmus, store_buffering) {
    constexpr auto no = between::nothing;
    constexpr auto fence = between::fence;
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, no, no>>()), Contains(both_stale));
    EXPECT_THAT((outcomes<store_buffering<rel, acq, no, no>>()), Contains(both_stale));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, fence, no>>()), Contains(both_stale));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, fence, fence>>()),
                UnorderedElementsAre(outcome{0, 1, -1, -1}, outcome{1, 0, -1, -1}, outcome{1, 1, -1, -1}));
    EXPECT_THAT((outcomes<store_buffering<sc, sc, no, no>>()), Not(Contains(both_stale)));
}

TEST(litmus, store_buffering_with_an_asymmetric_fence) {
    constexpr auto no = between::nothing;
    constexpr auto light = between::light;
    constexpr auto heavy = between::heavy;
    constexpr auto fence = between::fence;
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, light, heavy>>()), Not(Contains(both_stale)));
    EXPECT_THAT((outcomes<store_buffering<rel, rlx, heavy, light>>()), Not(Contains(both_stale)));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, heavy, heavy>>()), Not(Contains(both_stale)));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, heavy, fence>>()), Not(Contains(both_stale)));
    // Without the light fence a compiler may swap the two; two light fences order nothing.
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, no, heavy>>()), Contains(both_stale));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, light, light>>()), Contains(both_stale));
    EXPECT_THAT((outcomes<store_buffering<rlx, rlx, light, fence>>()), Contains(both_stale));
}

template <std::memory_order Order>
struct store_buffering_by_updates : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            (void)x.exchange(1, Order);
            r[0] = y.load(rlx);
        } else {
            (void)y.exchange(1, Order);
            r[1] = x.load(rlx);
        }
    }
};

TEST(litmus, a_read_modify_write_is_no_fence) {
    EXPECT_THAT((outcomes<store_buffering_by_updates<acq_rel>>()), Contains(both_stale));
}

// ---- message passing --------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load, bool ReleaseFence, bool AcquireFence>
struct message_passing : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, rlx);
            if (ReleaseFence) {
                here().fence(rel, where::current());
            }
            y.store(1, Store);
        } else {
            r[0] = y.load(Load);
            if (AcquireFence) {
                here().fence(acq, where::current());
            }
            r[1] = x.load(rlx);
        }
    }
};

constexpr outcome flag_without_data = {1, 0, -1, -1};

TEST(litmus, message_passing) {
    EXPECT_THAT((outcomes<message_passing<rlx, rlx, false, false>>()), Contains(flag_without_data));
    EXPECT_THAT((outcomes<message_passing<rel, rlx, false, false>>()), Contains(flag_without_data));
    EXPECT_THAT((outcomes<message_passing<rlx, rlx, true, false>>()), Contains(flag_without_data));
    EXPECT_THAT((outcomes<message_passing<rlx, rlx, false, true>>()), Contains(flag_without_data));
    EXPECT_THAT((outcomes<message_passing<rlx, rlx, true, true>>()), Not(Contains(flag_without_data)));
    EXPECT_THAT((outcomes<message_passing<rel, rlx, false, true>>()), Not(Contains(flag_without_data)));
}

template <std::memory_order Load>
struct passing_acquired : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, rlx);
            y.store(1, rel);
        } else {
            r[0] = y.load(Load);
            r[1] = x.load(rlx);
        }
    }
};

TEST(litmus, message_passing_by_release_and_acquire) {
    EXPECT_THAT((outcomes<passing_acquired<acq>>()),
                UnorderedElementsAre(outcome{0, 0, -1, -1}, outcome{0, 1, -1, -1}, outcome{1, 1, -1, -1}));
    EXPECT_THAT((outcomes<passing_acquired<rlx>>()), Contains(flag_without_data));
}

/// A release sequence: through read-modify-writes of others, and since C++20 not through own later stores.
template <bool Update>
struct release_sequence : litmus {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, rlx);
            y.store(1, rel);
            if (!Update) {
                y.store(2, rlx);
            }
        } else if (i == 1) {
            if (Update) {
                int one = 1;
                (void)y.compare_exchange_strong(one, 2, rlx, rlx);
            }
        } else {
            r[0] = y.load(acq);
            r[1] = x.load(rlx);
        }
    }
};

TEST(litmus, release_sequences) {
    constexpr outcome second_without_data = {2, 0, -1, -1};
    EXPECT_THAT((outcomes<release_sequence<true>>()), Not(Contains(second_without_data)));
    EXPECT_THAT((outcomes<release_sequence<true>>()), Contains(outcome{2, 1, -1, -1}));
    EXPECT_THAT((outcomes<release_sequence<false>>()), Contains(second_without_data));
}

// ---- two stores each --------------------------------------------------------------------------

template <std::memory_order Store, between What>
struct two_plus_two : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        atomic<int>& first = i == 0 ? x : y;
        atomic<int>& second = i == 0 ? y : x;
        first.store(1, Store);
        separate<What>();
        second.store(2, Store);
    }
    void finish() {
        r[0] = x.load(rlx);
        r[1] = y.load(rlx);
        litmus::finish();
    }
};

TEST(litmus, two_plus_two_writes) {
    constexpr outcome crossed = {1, 1, -1, -1};
    EXPECT_THAT((outcomes<two_plus_two<rlx, between::nothing>>()), Contains(crossed));
    EXPECT_THAT((outcomes<two_plus_two<rel, between::nothing>>()), Contains(crossed));
    EXPECT_THAT((outcomes<two_plus_two<rlx, between::fence>>()), Not(Contains(crossed)));
    EXPECT_THAT((outcomes<two_plus_two<sc, between::nothing>>()), Not(Contains(crossed)));
}

// ---- independent reads ------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load, between What>
struct independent_reads : litmus {
    static constexpr unsigned threads = 4;
    void thread(unsigned i) {
        switch (i) {
        case 0:
            x.store(1, Store);
            break;
        case 1:
            y.store(1, Store);
            break;
        case 2:
            r[0] = x.load(Load);
            separate<What>();
            r[1] = y.load(Load);
            break;
        default:
            r[2] = y.load(Load);
            separate<What>();
            r[3] = x.load(Load);
            break;
        }
    }
};

TEST(litmus, independent_reads_of_independent_writes) {
    constexpr outcome in_both_orders = {1, 0, 1, 0};
    EXPECT_THAT((outcomes<independent_reads<rel, acq, between::nothing>>()), Contains(in_both_orders));
    EXPECT_THAT((outcomes<independent_reads<rlx, rlx, between::fence>>()), Not(Contains(in_both_orders)));
    EXPECT_THAT((outcomes<independent_reads<sc, sc, between::nothing>>()), Not(Contains(in_both_orders)));
}

// ---- chains -----------------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load>
struct write_to_read_causality : litmus {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, Store);
        } else if (i == 1) {
            r[0] = x.load(Load);
            y.store(r[0], Store);
        } else {
            r[1] = y.load(Load);
            r[2] = x.load(rlx);
        }
    }
};

TEST(litmus, write_to_read_causality) {
    constexpr outcome broken = {1, 1, 0, -1};
    EXPECT_THAT((outcomes<write_to_read_causality<rlx, rlx>>()), Contains(broken));
    EXPECT_THAT((outcomes<write_to_read_causality<rel, acq>>()), Not(Contains(broken)));
}

// ---- one location -----------------------------------------------------------------------------

struct coherence : litmus {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, rlx);
            x.store(2, rlx);
        } else {
            r[2 * i - 2] = x.load(rlx);
            r[2 * i - 1] = x.load(rlx);
        }
    }
    void finish() {
        EXPECT_LE(r[0], r[1]);
        EXPECT_LE(r[2], r[3]);
        litmus::finish();
        EXPECT_EQ(x.load(rlx), 2);
    }
};

TEST(litmus, coherence) {
    EXPECT_THAT(outcomes<coherence>(), Contains(outcome{0, 2, 1, 1}));
    EXPECT_EQ(seen.size(), 36U) << "six growing pairs for each reader";
}

struct own_stores : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            x.store(1, rlx);
            r[0] = x.load(rlx); // 1, or the other thread's value if that store is later
        } else {
            x.store(2, rlx);
            r[1] = x.load(rlx);
        }
    }
    void finish() {
        r[2] = x.load(rlx);
        litmus::finish();
    }
};

TEST(litmus, a_thread_sees_its_own_stores) {
    EXPECT_THAT(outcomes<own_stores>(), UnorderedElementsAre(outcome{1, 2, 1, -1}, outcome{1, 2, 2, -1},
                                                             outcome{2, 2, 2, -1}, outcome{1, 1, 1, -1}));
}

template <bool Add>
struct updates : litmus {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (Add) {
            (void)x.fetch_add(1, rlx);
        } else {
            int zero = 0;
            r[i] = x.compare_exchange_strong(zero, 1, rlx, rlx) ? 1 : 0;
        }
    }
    void finish() {
        r[3] = Add ? x.load(rlx) : r[0] + r[1] + r[2];
        r[0] = r[1] = r[2] = 0;
        litmus::finish();
    }
};

TEST(litmus, read_modify_writes_are_atomic) {
    EXPECT_THAT(outcomes<updates<true>>(), UnorderedElementsAre(outcome{0, 0, 0, 3}));
    EXPECT_THAT(outcomes<updates<false>>(), UnorderedElementsAre(outcome{0, 0, 0, 1}));
}

/// A gap of the model: a load cannot return a value that another thread stores later because of that load.
struct load_buffering : litmus {
    static constexpr unsigned threads = 2;
    void thread(unsigned i) {
        if (i == 0) {
            r[0] = x.load(rlx);
            y.store(1, rlx);
        } else {
            r[1] = y.load(rlx);
            x.store(1, rlx);
        }
    }
};

TEST(litmus, load_buffering_is_not_modelled) {
    EXPECT_THAT(outcomes<load_buffering>(),
                UnorderedElementsAre(outcome{0, 0, -1, -1}, outcome{0, 1, -1, -1}, outcome{1, 0, -1, -1}));
}

// ---- plain memory -----------------------------------------------------------------------------

template <std::memory_order Store, std::memory_order Load>
struct plain_passing {
    static constexpr unsigned threads = 2;
    plain<int> data{0};
    atomic<int> flag{0};
    void thread(unsigned i) {
        if (i == 0) {
            data = 1;
            flag.store(1, Store);
        } else if (flag.load(Load) == 1) {
            check(data == 1, "wrong data");
        }
    }
    void finish() {}
};

struct passing_ok : plain_passing<rlx, rlx> {
    void thread(unsigned i) {
        if (i == 0) {
            data = 1;
            flag.store(1, rel);
        } else if (flag.load(acq) == 1) {
            check(data == 1, "wrong data");
            data = 2;
        }
    }
};

TEST(litmus, plain_data_published_by_a_flag) {
    EXPECT_FALSE(reports<passing_ok>(""));
    EXPECT_TRUE((reports<plain_passing<rlx, rlx>>("data race")));
    EXPECT_TRUE((reports<plain_passing<rel, rlx>>("data race")));
}

struct fences_alone {
    static constexpr unsigned threads = 2;
    plain<int> data{0};
    void thread(unsigned) {
        atom::fence_sc();
        data = 1;
        atom::fence_sc();
    }
    void finish() {}
};

TEST(litmus, fences_alone_order_no_plain_data) { EXPECT_TRUE(reports<fences_alone>("data race")); }

} // namespace
