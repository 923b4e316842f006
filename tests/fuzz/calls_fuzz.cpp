// Sequences of calls over live pools. The input is read as a forest of tasks, which runs in parallel. The
// result is compared with the results that a serial reading of the forest allows.
//
// A task calls its children by join, spawn, fork, async, a loop, a reduction, another pool's run(), or
// plainly, and may throw afterwards. Checked:
// 1. no task runs twice, and every task that ran also ended;
// 2. without an exception, every child ran and ended well and the sums are right;
// 3. an exception comes from a descendant;
// 4. a task is stopped only beside a task that threw;
// 5. broken_promise comes only after drop.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <numeric>
#include <span>
#include <vector>

#include <pilfer/pilfer.hpp>

#include "fuzz/require.hpp"

namespace {

class input {
public:
    explicit input(std::span<const std::uint8_t> bytes) : m_bytes(bytes) {}
    [[nodiscard]] bool empty() const { return m_bytes.empty(); }
    /// 0 at the end.
    std::uint8_t byte() {
        if (m_bytes.empty()) {
            return 0;
        }
        const std::uint8_t first = m_bytes.front();
        m_bytes = m_bytes.subspan(1);
        return first;
    }

private:
    std::span<const std::uint8_t> m_bytes;
};

enum class how : std::uint8_t { plain, join, spawn, fork, mixed, loop, reduction, async, other_pool };
constexpr unsigned kinds = 9;
/// Kinds before it wait for children only, which is safe with few stacks: see options.max_contexts.
constexpr unsigned structured_kinds = 7;

enum class end { none, well, thrown, stopped, broken };

struct task {
    how kind = how::plain;
    std::uint8_t value = 0;
    bool throws = false;
    task* parent = nullptr;
    std::vector<std::unique_ptr<task>> children;
    std::atomic<int> started{0};
    std::atomic<end> ended{end::none};

    [[nodiscard]] std::uint64_t sum() const {
        return std::accumulate(children.begin(), children.end(), std::uint64_t{value},
                               [](std::uint64_t s, const auto& c) { return s + c->sum(); });
    }
};

struct thrown {
    const task* by;
};

struct forest {
    std::vector<std::unique_ptr<task>> roots;
    unsigned left = 60;
    bool few_stacks = false;

    std::unique_ptr<task> read(input& in, unsigned depth) {
        --left;
        auto t = std::make_unique<task>();
        const std::uint8_t first = in.byte();
        const std::uint8_t second = in.byte();
        t->kind = static_cast<how>(first % (few_stacks ? structured_kinds : kinds));
        t->value = second;
        t->throws = (first & 0xe0) == 0xe0;
        for (unsigned n = depth > 0 ? second % 6 : 0; n > 0 && left > 0 && !in.empty(); --n) {
            t->children.push_back(read(in, depth - 1));
            t->children.back()->parent = t.get();
        }
        return t;
    }
};

pilfer::pool* other_pool;

std::uint64_t run(task& t);

void run_children(task& t, std::vector<std::uint64_t>& sums) {
    const std::size_t n = t.children.size();
    const auto call = [&](std::size_t i) { sums[i] = run(*t.children[i]); };
    switch (t.kind) {
    case how::plain: {
        for (std::size_t i = 0; i < n; ++i) {
            call(i);
        }
        break;
    }
    case how::join: {
        std::size_t i = 0;
        for (; i + 3 <= n; i += 3) {
            (void)pilfer::join([&] { call(i); }, [&] { call(i + 1); }, [&] { call(i + 2); });
        }
        if (i + 2 == n) {
            (void)pilfer::join([&] { call(i); }, [&] { call(i + 1); });
        } else if (i < n) {
            call(i);
        }
        break;
    }
    case how::spawn:
    case how::fork:
    case how::mixed: {
        pilfer::scope s;
        for (std::size_t i = 0; i < n; ++i) {
            if (t.kind == how::spawn || (t.kind == how::mixed && i % 2 == 0)) {
                s.spawn([&call, i] { call(i); });
            } else {
                s.fork([&call, i] { call(i); });
            }
            if (t.kind == how::mixed && i == 2) {
                s.sync();
            }
        }
        s.sync();
        break;
    }
    case how::loop: {
        pilfer::for_each(std::size_t{0}, n, call);
        break;
    }
    case how::reduction: {
        const auto map = [&](std::size_t i) {
            call(i);
            return sums[i];
        };
        (void)pilfer::reduce(std::size_t{0}, n, std::uint64_t{0}, map, std::plus<>());
        break;
    }
    case how::async: {
        std::vector<pilfer::future<std::uint64_t>> futures;
        for (auto& c : t.children) {
            futures.push_back(pilfer::async([&c] { return run(*c); }));
        }
        if (n > 0 && t.value % 4 > 1) {
            futures.front().wait();
        }
        // No task may be left in the common pool, which has no end, not even by a task that is stopped. The
        // task therefore holds a lock, which defers the cancellation until it has waited for all.
        const std::shared_ptr<void> all(nullptr, [&](void*) {
            pilfer::mutex hold;
            const std::lock_guard held(hold);
            for (const auto& f : futures) {
                f.wait();
            }
        });
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t i = t.value % 2 == 0 ? k : n - 1 - k;
            sums[i] = futures[i].get();
            require(futures[i].ready() && futures[i].get() == sums[i], "a future changed its mind");
        }
        break;
    }
    case how::other_pool: {
        for (std::size_t i = 0; i < n; ++i) {
            other_pool->run([&] { call(i); });
        }
        break;
    }
    }
}

std::uint64_t run(task& t) {
    require(t.started.fetch_add(1) == 0, "a task ran twice");
    require(t.parent == nullptr || t.parent->started == 1, "a task ran before its parent");
    std::vector<std::uint64_t> sums(t.children.size());
    try {
        run_children(t, sums);
        if (t.throws) {
            throw thrown{&t};
        }
    } catch (const pilfer::broken_promise&) {
        t.ended = end::broken;
        throw;
    } catch (const pilfer::stopped&) {
        t.ended = end::stopped;
        throw;
    } catch (const thrown& e) {
        t.ended = end::thrown;
        const task* by = e.by;
        while (by != &t) {
            require(by != nullptr, "an exception of a stranger");
            require(by->ended == end::thrown, "an exception of a task that did not throw");
            by = by->parent;
        }
        throw;
    }
    t.ended = end::well;
    const std::uint64_t sum = std::accumulate(sums.begin(), sums.end(), std::uint64_t{t.value});
    require(sum == t.sum(), "a wrong sum");
    return sum;
}

[[nodiscard]] bool somebody_threw(const task& t) {
    return t.ended == end::thrown || std::any_of(t.children.begin(), t.children.end(),
                                                 [](const auto& c) { return somebody_threw(*c); });
}

/// When everything is over.
void check(const task& t, bool may_break, bool may_stop) {
    require(t.started == (t.ended == end::none ? 0 : 1), "a task began and never ended");
    require(may_break || t.ended != end::broken, "a promise was broken without a drop");
    require(may_stop || t.ended != end::stopped, "a task was stopped beside nobody who threw");
    bool failed = t.throws || t.ended == end::stopped;
    for (const auto& c : t.children) {
        require(t.started == 1 || c->started == 0, "a child ran without its parent");
        require(t.ended != end::well || c->ended == end::well, "a task ended well without its child");
        failed = failed || c->ended == end::thrown || (may_break && c->ended != end::well);
        check(*c, may_break, may_stop);
    }
    require(t.started == 0 || t.ended == end::well || failed, "an exception without a reason");
}

[[nodiscard]] pilfer::options options_from(input& in, forest& f) {
    pilfer::options o;
    const std::uint8_t a = in.byte();
    const std::uint8_t b = in.byte();
    o.workers = 1 + a % 3;
    o.balance.exposure = static_cast<pilfer::exposure>(1 + a / 3 % 2);
    o.resume = static_cast<pilfer::resume>(a / 6 % 3);
    o.balance.unshare = static_cast<pilfer::unshare>(a / 18 % 2);
    o.debug.count_all = a / 36 % 2 == 1;
    o.max_contexts = b % 4 == 0 ? 1 + b / 4 % 8 : 0;
    if (b / 32 != 0) {
        constexpr pilfer::steal_amount amounts[] = {
            pilfer::steal_amount::half(), pilfer::steal_amount::part(1, 1),
            pilfer::steal_amount::all_but_one(), pilfer::steal_amount::adaptive()};
        o.balance.steal = amounts[b / 32 % 4];
        o.balance.victim = static_cast<pilfer::victim>(1 + b / 32 % 5);
        o.balance.exposure = static_cast<pilfer::exposure>(1 + (a / 3 + b / 32) % 6);
    }
    o.stack_size = std::size_t{512} * 1024; // sanitizers make large frames
    f.few_stacks = o.max_contexts != 0;
    return o;
}

void run_program(input in) {
    forest f;
    const auto o = options_from(in, f);
    const std::uint8_t ways = in.byte(); // of entering: two bits a root; the uppermost: drop
    const auto mode = (ways & 0x80) != 0 ? pilfer::shutdown_mode::drop : pilfer::shutdown_mode::drain;
    while (!in.empty() && f.roots.size() < 3 && f.left > 0) {
        f.roots.push_back(f.read(in, 6));
    }
    {
        pilfer::options small;
        small.workers = 1;
        pilfer::pool other(small);
        other_pool = &other;
        pilfer::pool pool(o);
        std::vector<std::pair<pilfer::future<std::uint64_t>, task*>> futures;
        for (std::size_t i = 0; i < f.roots.size(); ++i) {
            task& root = *f.roots[i];
            const unsigned way = ways >> (2 * i) & 3;
            try {
                if (way == 0) {
                    require(pool.run([&] { return run(root); }) == root.sum(), "run() gave something else");
                } else if (way == 1 && !f.few_stacks) {
                    (void)run(root); // outside: in the common pool
                } else {
                    futures.emplace_back(pool.async([&root] { return run(root); }), &root);
                }
            } catch (const thrown&) {
                require(root.ended == end::thrown, "run() threw what the task did not");
            }
        }
        pool.shutdown(mode);
        for (auto& [future, root] : futures) {
            try {
                require(future.ready(), "not ready after shutdown()");
                require(future.get() == root->sum(), "get() gave something else");
            } catch (const thrown&) {
                require(root->ended == end::thrown, "get() threw what the task did not");
            } catch (const pilfer::broken_promise&) {
                require(root->ended == end::none || root->ended == end::broken, "a promise was broken late");
            }
        }
        try {
            (void)pool.async([] {});
            require(false, "a closed pool accepts");
        } catch (const pilfer::pool_closed&) {
        }
    }
    for (const auto& root : f.roots) {
        check(*root, mode == pilfer::shutdown_mode::drop, somebody_threw(*root));
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
    setenv("PILFER_WORKERS", "2", 1); // of the common pool
    return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    run_program(input({data, size}));
    return 0;
}
