#include "budget.hpp"

namespace model {

const char* to_string(kind k) noexcept {
    switch (k) {
    case kind::random:
        return "random";
    case kind::priorities:
        return "priorities";
    case kind::exhaustive:
        return "exhaustive";
    }
    return "?";
}

void explore(const harness& h, kind k, const budget& b, report& r) {
    std::unique_ptr<strategy> s;
    std::uint64_t most = 0;
    switch (k) {
    case kind::random:
        s = std::make_unique<random_walk>(b.seed);
        most = b.random;
        break;
    case kind::priorities:
        s = std::make_unique<priorities>(b.seed, b.depth);
        most = b.priorities;
        break;
    case kind::exhaustive:
        s = std::make_unique<exhaustive>(b.preemptions, b.odd, b.first);
        most = b.exhaustive;
        break;
    }
    const std::uint64_t steps = here().steps();
    while (r.executions < most) {
        if (!s->begin()) {
            r.complete = true;
            break;
        }
        ++r.executions;
        const result& one = here().run(h, *s);
        if (one.failed) {
            r.failed = true;
            set_text(r.message, sizeof r.message, one.message);
            set_text(r.choices, sizeof r.choices, to_text(one.choices));
            break;
        }
    }
    r.steps = here().steps() - steps;
}

} // namespace model
