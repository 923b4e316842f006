// One program on two back-ends: work stealing, and one lock, which is too simple to be wrong. If their
// results differ, the runtime has a bug. PILFER_BACKEND=one_lock chooses it from outside, for every pool of a
// program.
#include <cstdio>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

unsigned long count(unsigned board, unsigned depth) {
    if (depth == 0) {
        return board % 3;
    }
    std::vector<pilfer::future<unsigned long>> moves;
    for (unsigned i = 0; i < 4; ++i) {
        moves.push_back(pilfer::async([=] { return count(board * 5 + i, depth - 1); }));
    }
    auto all = pilfer::when_all(moves).then([](const std::vector<pilfer::future<unsigned long>>& ready) {
        unsigned long sum = 0;
        for (const auto& f : ready) {
            sum = sum * 31 + f.get();
        }
        return sum;
    });
    for (const auto& f : moves) { // runs the move here unless a worker has begun it
        f.wait();
    }
    return all.get();
}

} // namespace

int main() {
    for (const auto b : {pilfer::backend::work_stealing, pilfer::backend::one_lock}) {
        pilfer::options o;
        o.workers = 2;
        o.backend = b;
        pilfer::pool pool(o);
        std::printf("%s: %lu\n", b == pilfer::backend::one_lock ? "one lock" : "stealing",
                    pool.run([] { return count(1, 5); }));
    }
    // Two threads wait for a third task: a temporary thread runs it.
    pilfer::options o;
    o.workers = 2;
    o.backend = pilfer::backend::one_lock;
    pilfer::pool pool(o);
    pilfer::promise<int> answer;
    const auto f = answer.get_future();
    auto first = pool.async([f] { return f.get(); });
    auto second = pool.async([f] { return f.get(); });
    pool.submit([&answer] { answer.set_value(21); });
    std::printf("both have waited: %d\n", first.get() + second.get());
}
