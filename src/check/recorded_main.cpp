#include "check/recorded_main.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <pilfer/detail/task/bound_frames.hpp>

#include "check/settings.hpp"
#include "explore/record.hpp"
#include "platform/cpus.hpp"
#include "platform/os.hpp"
#include "pool/pool_core.hpp"
#include "pool/stand_in.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// So often a pool that ends lets others run before its wait is a wait.
constexpr unsigned most_yields = 64;

/// The end of a pool, in a task.
struct quiet_wait : suspension {
    std::vector<quiet_wait*>* list;
    std::mutex* lock;
    recorded_run* run;
};

/// main(), and the pools of the program: all of them are the one that is recorded.
class recorded_main final : public recorded_program, public pool_stand_in {
public:
    recorded_main(const std::string& file, const os::rest_of_program& rest)
        : m_rest(rest), m_recorder(file, true),
          m_run(m_recorder, *this,
                {std::max(2U, os::automatic_workers()),
                 std::getenv("PILFER_STACK") != nullptr ? 0 : stack_of_main}) {}

    [[noreturn]] void run() {
        stand_in = this;
        m_run.core().must_note_exit();
        m_run.run();
        std::exit(m_code); // with the pool: destructors of static objects may use it
    }

    // ---- recorded_program
    void call_body() override {
        const bound_frames stays_on_its_thread;
        m_code = m_rest.run();
        if (!m_recorder.is_of_this_process()) {
            std::exit(m_code); // a child of fork() has no worker that could end the task
        }
        if (m_code != 0) {
            recorded_failure("main() has returned " + std::to_string(m_code));
        }
    }
    [[nodiscard]] bool is_main() const noexcept override { return true; }
    [[nodiscard]] bool handles(const std::exception_ptr& error) override;
    [[nodiscard]] bool looks(pool_core& p, bool still) override;
    [[nodiscard]] bool is_in_a_hurry() noexcept override {
        const std::lock_guard lock(m_mutex);
        return !m_waits.empty();
    }

    // ---- pool_stand_in
    [[nodiscard]] pool_core& begins(const pool& p, const options& checked) override;
    [[nodiscard]] const options* settings(const pool& p) const noexcept override;
    void drains() noexcept override;
    void ends(const pool& p) noexcept override;

private:
    struct one {
        const pool* at;
        options asked;
    };
    void wait_outside() const noexcept;
    void wait_in_task() noexcept;

    const os::rest_of_program& m_rest;
    recorder m_recorder;
    int m_code = 0;
    mutable std::mutex m_mutex; // of what follows; never across a wait
    std::list<one> m_all;       // the newest first
    bool m_several = false;
    std::vector<quiet_wait*> m_waits;
    recorded_run m_run; // its tasks use the rest
};

bool recorded_main::handles(const std::exception_ptr& error) {
    std::function<void(std::exception_ptr)> answer;
    {
        const std::lock_guard lock(m_mutex);
        const auto at = std::find_if(m_all.begin(), m_all.end(),
                                     [](const one& o) { return o.asked.on_error != nullptr; });
        if (at != m_all.end()) {
            answer = at->asked.on_error;
        }
    }
    if (answer != nullptr) {
        answer(error);
    }
    return answer != nullptr;
}

pool_core& recorded_main::begins(const pool& p, const options& checked) {
    const std::lock_guard lock(m_mutex);
    m_several = m_several || !m_all.empty();
    m_all.push_front({&p, checked});
    return m_run.core();
}

const options* recorded_main::settings(const pool& p) const noexcept {
    const std::lock_guard lock(m_mutex);
    const auto at = std::find_if(m_all.begin(), m_all.end(), [&](const one& o) { return o.at == &p; });
    return at != m_all.end() ? &at->asked : nullptr;
}

/// The waits that have begun are counted first, because their tasks are outstanding until they end here.
bool recorded_main::looks(pool_core& p, bool still) {
    std::vector<quiet_wait*> over;
    {
        const std::lock_guard lock(m_mutex);
        const std::uint64_t waits = m_waits.size();
        const bool in_vain = still && m_several && !m_recorder.has_reasons();
        if (waits == 0 || (outstanding(p) != waits && !in_vain)) {
            return false;
        }
        over.swap(m_waits);
    }
    for (quiet_wait* const w : over) {
        make_runnable(w);
    }
    return true;
}

void recorded_main::wait_outside() const noexcept {
    constexpr std::uint64_t nap = 200'000; // ns
    std::atomic<std::uint32_t> never_set{0};
    while (outstanding(m_run.core()) != 0) {
        os::futex_wait_for(never_set, 0, nap);
    }
}

void recorded_main::wait_in_task() noexcept {
    const auto others = [this] {
        const std::lock_guard lock(m_mutex);
        return outstanding(m_run.core()) > m_waits.size() + 1; // and this task
    };
    for (unsigned i = 0; i != most_yields; ++i) {
        if (!others()) {
            return;
        }
        backend_of(this_worker()).yield(scheduler::of(this_worker()));
    }
    static constexpr wait_kind kind{"the end of the tasks of a pool",
                                    [](const suspension&, wait_facts&) noexcept {}};
    quiet_wait s;
    s.list = &m_waits;
    s.lock = &m_mutex;
    s.run = &m_run;
    s.why = &kind;
    s.object = nullptr;
    s.publish = [](suspension& self) noexcept {
        auto& w = static_cast<quiet_wait&>(self);
        recorded_run& run = *w.run; // the wait may be over after the lock
        {
            const std::lock_guard lock(*w.lock);
            w.list->push_back(&w);
        }
        run.look_soon();
        return true;
    };
    suspend(this_worker(), s);
}

/// As pools_as_one::drains(). A thread outside waits for all tasks.
void recorded_main::drains() noexcept {
    const worker* const w = this_worker();
    if (m_run.core().is_forked_child()) {
        return;
    }
    if (w == nullptr || w->pool != &m_run.core()) {
        wait_outside();
        return;
    }
    const bool is_in_main = w->current.load(rlx)->ctx->test.name() == 0;
    if (is_in_main || !os::exit_has_begun()) {
        wait_in_task();
    }
}

void recorded_main::ends(const pool& p) noexcept {
    drains();
    if (m_recorder.has_periodic_timers()) {
        // It is of this pool, and would end here without a recording, or of another one, and go on.
        m_recorder.cannot_repeat("a timer that goes on after the end of a pool");
    }
    const std::lock_guard lock(m_mutex);
    m_all.remove_if([&](const one& o) { return o.at == &p; });
}

} // namespace

std::string take_recording_name() {
    const char* const file = os::safe_variable("PILFER_RECORD");
    const std::string name = file != nullptr ? file : "";
    os::forget_variable("PILFER_RECORD");
    return name;
}

void record_main(const std::string& file, const os::rest_of_program& rest) {
    static auto& all = *new recorded_main(file, rest); // never ends: threads are inside until the exit
    all.run();
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
