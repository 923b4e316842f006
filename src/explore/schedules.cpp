// The calls of <pilfer/test.hpp>.
#if defined(PILFER_TEST)

#include <pilfer/test.hpp>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <utility>

#include "explore/explored_pool.hpp"
#include "explore/interleaving.hpp"
#include "explore/recorder.hpp"
#include "platform/whole_program.hpp"
#include "search/recorded.hpp"
#include "search/search.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// Schedules of a function, in pools of this process.
class explored_call final : public exploration {
public:
    explored_call(std::uint64_t n, const test::options& o, const std::function<void()>& body)
        : m_search(n, o, false), m_options(o), m_body(body) {}

    [[nodiscard]] schedule_search& search() noexcept { return m_search; }

    // ---- exploration
    [[nodiscard]] const plan* next() override {
        const plan* const p = m_search.next();
        if (p == nullptr) {
            return nullptr;
        }
        if (const std::string name = m_search.name(); name.size() <= longest_text) {
            say_at_abort("pilfer: the program ends in a test of schedules; PILFER_SCHEDULE=%s repeats it\n",
                         name.c_str(), 0);
        } else {
            say_at_abort("pilfer: the program ends in a test of schedules, in number %2$llu\n", "",
                         m_search.number());
        }
        return p;
    }
    [[nodiscard]] bool traces() const noexcept override { return m_search.traces(); }
    [[nodiscard]] bool shows_lines() const noexcept override { return m_options.lines; }
    void call_body() override { m_body(); }
    [[nodiscard]] std::uint64_t most_steps() const noexcept override { return m_options.steps; }
    [[nodiscard]] std::uint64_t most_time() const noexcept override { return m_search.most_time(); }
    void ran(const std::vector<choice>& taken, const run_report& r,
             const std::vector<trace_step>& trace) override {
        m_search.ran(taken, r, trace);
    }

private:
    schedule_search m_search;
    const test::options& m_options;
    const std::function<void()>& m_body;
};

void check_call(std::uint64_t n, const test::options& o, const std::function<void()>& body) {
    const auto wrong = [](const std::string& what) {
        throw std::invalid_argument("pilfer: test::schedules: " + what);
    };
    if (n == 0) {
        wrong("0 schedules test nothing");
    }
    if (!body) {
        wrong("body is empty");
    }
    if (static_cast<unsigned>(o.strategy) > static_cast<unsigned>(test::strategy::exhaustive)) {
        wrong("options.strategy must be mixed, random, pct or exhaustive, not " +
              std::to_string(static_cast<unsigned>(o.strategy)));
    }
    if (o.depth < 1 || o.depth > 1'000) {
        wrong("options.depth must be from 1 to 1000, not " + std::to_string(o.depth));
    }
    if (o.steps == 0) {
        wrong("options.steps must be at least 1");
    }
    if (o.patience < std::chrono::nanoseconds(0)) {
        wrong("options.patience must not be below 0");
    }
}

} // namespace

std::mutex one_call;

} // namespace detail

namespace test {

result schedules(std::uint64_t n, const options& o, const std::function<void()>& body) {
    if (detail::this_worker() != nullptr) {
        throw usage_error("pilfer: test::schedules is called by a task");
    }
    detail::check_call(n, o, body);
    options all = o;
    if (const char* const text = os::safe_variable("PILFER_SCHEDULE");
        all.replay.empty() && text != nullptr) {
        all.replay = detail::text_of_schedule(text);
    }
    detail::explored_call call(n, all, body);
    const std::lock_guard lock(detail::one_call);
    const detail::exploring_process here(call.search().follows_recording());
    while (!call.search().over()) {
        detail::explore_in_a_pool(call, 0);
    }
    return std::move(call.search().result());
}

std::ostream& operator<<(std::ostream& out, const result& r) {
    if (r.passed) {
        out << "passed: " << r.schedules << " schedules";
        if (r.complete) {
            out << ", which are all";
        } else if (r.estimate > 0) {
            out << " of about " << r.estimate;
        }
        return out;
    }
    return out << "schedule " << r.failed << " failed: " << r.message << "\nits steps:\n"
               << r.trace << "PILFER_SCHEDULE=" << r.schedule << " repeats it\n";
}

void require(bool holds, const char* what, const std::source_location& where) {
    if (holds) {
        return;
    }
    detail::interleaving* const x = detail::explored_here();
    std::optional<detail::interleaving::bookkeeping> now; // a fault of memory must not hide the failure
    if (x != nullptr) {
        now.emplace(*x);
    }
    std::string text = std::string(where.file_name()) + ":" + std::to_string(where.line()) +
                       ": a requirement does not hold" + (*what != '\0' ? ": " : "") + what;
    {
        const detail::test_step order("fails", nullptr, false);
        if (x != nullptr) {
            x->fails(detail::verdict::requirement, text);
        } else if (detail::recorder* const r = detail::recorder_of_task()) {
            r->ends(text);
        }
    }
    throw failure(text);
}

} // namespace test
} // namespace v0
} // namespace pilfer

#endif
