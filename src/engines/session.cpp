// A session: this process as one rank, its runs, and its end.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include <pilfer/detail/cluster/bound_word.hpp>

#include "cluster/exact_sleeps.hpp"
#include "cluster/pace.hpp"
#include "cluster/rank_work.hpp"
#include "cluster/tasks.hpp"
#include "engines/balancer.hpp"
#include "engines/elastic.hpp"
#include "engines/group.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

[[nodiscard]] unsigned number_in_environment(const char* name, unsigned otherwise) noexcept {
    const char* text = std::getenv(name);
    return text != nullptr && *text >= '0' && *text <= '9'
               ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
               : otherwise;
}

/// The ranks that run on the machine of this one.
[[nodiscard]] unsigned ranks_of_this_machine(const process_group& group) {
    unsigned count = 0;
    for (unsigned r = 0; r < group.size(); ++r) {
        count += group.host(r) == group.host(group.rank()) ? 1 : 0;
    }
    return count;
}

/// Counts a list as in 0-3,8-11; 0 if there is none.
[[nodiscard]] unsigned count_list(std::istream& list) {
    unsigned count = 0;
    for (unsigned first = 0; list >> first;) {
        unsigned last = first;
        if (list.peek() == '-') {
            list.get();
            list >> last;
        }
        count += last - first + 1;
        if (list.peek() != ',') {
            break;
        }
        list.get();
    }
    return count;
}

/// The CPUs of this machine, also those that this process may not use; 0: not known.
[[nodiscard]] unsigned online_cpus() {
    std::ifstream file("/sys/devices/system/cpu/online");
    return count_list(file);
}

/// The CPUs that this process may use; 0: not known. std::thread::hardware_concurrency() may count all.
[[nodiscard]] unsigned allowed_cpus() {
    std::ifstream file("/proc/self/status");
    for (std::string word; file >> word;) {
        if (word == "Cpus_allowed_list:") {
            return count_list(file);
        }
    }
    return 0;
}

/// `group`: null without MPI.
[[nodiscard]] options with_defaults(options o, const process_group* group) {
    // Ranks of one machine share its CPUs, unless the launcher has given each its own.
    const unsigned ranks_here = group != nullptr ? ranks_of_this_machine(*group) : 1;
    const unsigned allowed = allowed_cpus();
    if (o.workers == 0 && std::getenv("PILFER_WORKERS") == nullptr && ranks_here > 1 &&
        allowed >= online_cpus()) {
        o.workers = std::max(1u, allowed / ranks_here);
    }
    if (o.debug.stall_report == options{}.debug.stall_report) {
        o.debug.stall_report = 0; // a task that waits for another rank is no stall
    }
    return o;
}

/// PILFER_CLUSTER_SILENCE: the seconds until a rank that is silent ends the job; 0: never.
[[nodiscard]] unsigned patience_in_environment() {
    const char* text = std::getenv("PILFER_CLUSTER_SILENCE");
    if (text == nullptr) {
        return 8;
    }
    const std::string_view all(text);
    unsigned seconds = 0;
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), seconds);
    if (error != std::errc() || end != all.data() + all.size() || seconds > 86'400 ||
        (seconds != 0 && seconds < 3)) {
        throw std::invalid_argument("pilfer::cluster: PILFER_CLUSTER_SILENCE is \"" + std::string(all) +
                                    "\", but must be 0, or a number of seconds from 3 to 86,400");
    }
    return seconds;
}

/// PILFER_CLUSTER: the URL of a job queue; null if there is none.
[[nodiscard]] const char* queue_in_environment() noexcept {
    const char* url = std::getenv("PILFER_CLUSTER");
    return url != nullptr && *url != '\0' ? url : nullptr;
}

[[nodiscard]] std::string text_in_environment(const char* name) {
    const char* text = std::getenv(name);
    return text != nullptr ? text : "";
}

/// PILFER_CLUSTER, and the files for TLS.
[[nodiscard]] queue_address address_in_environment(const char* url) {
    queue_address a = parse_queue(url);
    a.files = {.authorities = text_in_environment("PILFER_CLUSTER_CA"),
               .certificate = text_in_environment("PILFER_CLUSTER_CERT"),
               .key = text_in_environment("PILFER_CLUSTER_KEY")};
    if (a.files.certificate.empty() != a.files.key.empty()) {
        throw std::invalid_argument(
            "pilfer::cluster: PILFER_CLUSTER_CERT and PILFER_CLUSTER_KEY are a pair: one of them is missing");
    }
    const bool has_files = !a.files.authorities.empty() || !a.files.key.empty();
    if (has_files && !a.is_secure) {
        throw std::invalid_argument("pilfer::cluster: PILFER_CLUSTER_CA, _CERT and _KEY are for TLS, but "
                                    "PILFER_CLUSTER is \"" +
                                    std::string(url) + "\": it must begin with gearmans://");
    }
    return a;
}

/// srun starts programs that know nothing of each other, unless an option makes it launch ranks.
void warn_if_alone() noexcept {
    const unsigned tasks = number_in_environment("SLURM_STEP_NUM_TASKS", 1);
    if (tasks > 1 && number_in_environment("SLURM_PROCID", 0) == 0 && !is_launched() &&
        queue_in_environment() == nullptr) {
        std::fprintf(stderr,
                     "pilfer::cluster: srun has started %u programs, and each does all the work. It launches "
                     "ranks if it is told: srun --mpi=pmix\n",
                     tasks);
    }
}

[[nodiscard]] std::unique_ptr<process_group> group_of(int argc, char** argv) {
    if (session_made.exchange(true, rlx)) {
        throw usage_error("pilfer::cluster: a process makes one session");
    }
    warn_if_alone();
    return is_launched() && queue_in_environment() == nullptr ? make_group(argc, argv) : nullptr;
}

[[nodiscard]] std::unique_ptr<elastic> elastic_of(int argc, char** argv, unsigned patience) {
    const bool is_worker = std::any_of(argv, argv + argc, [](const char* a) {
        return a != nullptr && std::string_view(a) == "--pilfer-worker";
    });
    const char* url = queue_in_environment();
    if (url == nullptr) {
        if (is_worker) {
            throw usage_error("pilfer::cluster: --pilfer-worker needs the job queue in the environment: "
                              "PILFER_CLUSTER=gearman://host");
        }
        return nullptr;
    }
    const queue_address where = address_in_environment(url);
    if (is_launched()) {
        throw usage_error("pilfer::cluster: mpirun has started this process, and PILFER_CLUSTER names a job "
                          "queue: use one of them");
    }
    (void)facts_of_program(); // a wrong value in the environment ends no run later
    return std::make_unique<elastic>(where, is_worker, patience);
}

} // namespace

bool is_launched() noexcept {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"}) {
        if (std::getenv(name) != nullptr) {
            return true;
        }
    }
    return false;
}

class session_core {
public:
    session_core(int argc, char** argv, const options& o)
        : m_group(group_of(argc, argv)), m_together(*this), m_elastic(elastic_of(argc, argv, m_patience)),
          m_pool(m_group != nullptr || m_elastic != nullptr ? with_defaults(o, m_group.get()) : o),
          m_stats(size()) {
        this_rank.store(static_cast<int>(rank()), rlx);
        (void)cluster_tasks(); // numbers them
        if (m_group != nullptr) {
            compare_programs();
            warn_if_bound();
        }
    }
    session_core(const session_core&) = delete;
    session_core& operator=(const session_core&) = delete;
    ~session_core() = default;

    [[nodiscard]] unsigned rank() const noexcept {
        return m_group != nullptr ? m_group->rank() : m_elastic != nullptr ? m_elastic->rank() : 0;
    }
    [[nodiscard]] unsigned size() const noexcept {
        return m_group != nullptr ? m_group->size() : m_elastic != nullptr ? m_elastic->size() : 1;
    }
    [[nodiscard]] bool is_elastic() const noexcept { return m_elastic != nullptr; }
    [[nodiscard]] pilfer::v0::pool& pool() noexcept { return m_pool; }
    [[nodiscard]] std::vector<cluster::rank_stats> stats() const {
        return m_elastic != nullptr ? m_elastic->stats() : m_stats;
    }

    void begin_run() {
        if (this_worker() != nullptr || std::this_thread::get_id() != m_thread) {
            throw usage_error("pilfer::cluster: the thread that made a session makes its calls; a task calls "
                              "cluster::join or cluster::sum");
        }
        if (m_running) {
            throw usage_error("pilfer::cluster: this session is in a run");
        }
        m_running = true;
        for (bound_word* b : cluster_bounds()) {
            b->reset();
        }
    }
    void end_run() noexcept { m_running = false; }

    std::vector<std::byte> run(cluster_task& type, void (*root)(const void*, cluster::archive&),
                               const void* closure) {
        parcel_result end =
            m_elastic != nullptr
                ? m_elastic->run(m_pool, type, [=](cluster::archive& out) { root(closure, out); })
                : balance(type, root, closure);
        if (end.failed != 0) {
            throw cluster::remote_error(
                static_cast<int>(end.rank),
                std::string(reinterpret_cast<const char*>(end.bytes.data()), end.bytes.size()));
        }
        return std::move(end.bytes);
    }

private:
    /// Ranks end together, also where the constructor of a session throws.
    struct end_together {
        explicit end_together(session_core& c) noexcept : core(c) {}
        end_together(const end_together&) = delete;
        end_together& operator=(const end_together&) = delete;
        ~end_together() { core.leave(); }
        session_core& core;
    };
    void leave() {
        if (m_group == nullptr) {
            return;
        }
        // All ranks may unwind, because a run has failed or their programs differ. If only this one does, the
        // others wait for it in vain.
        if (!m_group->leave(std::uncaught_exceptions() > m_exceptions ? m_patience : 0)) {
            stop_all("left its session by an exception, and other ranks wait for it");
        }
    }

    [[noreturn]] void stop_all(const char* why) noexcept {
        std::fprintf(stderr, "pilfer::cluster: rank %u on %s ends the job: %s\n", rank(),
                     m_group->host(rank()).c_str(), why);
        m_group->abort();
        std::abort();
    }

    void compare_programs() {
        const program_facts mine = facts_of_program();
        cluster::archive out;
        out.put(mine);
        const auto all = m_group->gather(out.bytes());
        std::string differences;
        for (unsigned r = 1; r < size(); ++r) {
            if (all[r] == all[0]) {
                continue;
            }
            if (const std::string d = difference(read_facts(all[0]), read_facts(all[r])); !d.empty()) {
                differences += "\n  rank " + std::to_string(r) + " on " + m_group->host(r) + " has " + d;
            }
        }
        if (!differences.empty()) {
            throw cluster::mismatch_error(
                "pilfer::cluster: the ranks run different programs; compared with rank 0:" + differences);
        }
    }
    [[nodiscard]] static program_facts read_facts(const std::vector<std::byte>& bytes) {
        cluster::archive in(bytes);
        return in.take<program_facts>();
    }

    void warn_if_bound() const {
        const unsigned cpus = online_cpus();
        if (allowed_cpus() == 1 && ranks_of_this_machine(*m_group) < cpus) {
            std::fprintf(stderr, "pilfer::cluster: rank %u on %s may use one CPU of %u. %s\n", rank(),
                         m_group->host(rank()).c_str(), cpus,
                         std::getenv("SLURM_JOB_ID") != nullptr
                             ? "Slurm gives a task one unless it is told: --cpus-per-task"
                             : "Open MPI binds a rank to one core unless it is told: mpirun --bind-to none");
        }
    }

    parcel_result balance(cluster_task& type, void (*root)(const void*, cluster::archive&),
                          const void* closure) {
        m_group->begin_run();
        ++m_runs;
        rank_work work(m_pool, rank(), &m_group->bell());
        const exact_sleeps while_ranks_steal;
        try {
            return balance(work, type, root, closure);
        } catch (const std::exception& e) {
            stop_all(e.what()); // here, because tasks still use `work`
        }
    }

    parcel_result balance(rank_work& work, cluster_task& type, void (*root)(const void*, cluster::archive&),
                          const void* closure) {
        balancer::settings settings;
        settings.seed = m_runs;
        settings.tasks = static_cast<std::uint32_t>(cluster_tasks().size());
        settings.root = type.number;
        settings.bounds = static_cast<std::uint32_t>(cluster_bounds().size());
        settings.silent_after = 1'000'000'000ull * m_patience;
        balancer balance(*m_group, work, settings);
        if (rank() == 0) {
            work.start_root([root, closure](cluster::archive& out) { root(closure, out); });
        }
        bool finished = rank() != 0;
        pace looks;
        while (!balance.is_over()) {
            const std::uint32_t seen = work.events();
            work.await_branch(balance.is_awaited()); // before the look
            bool moved = false;
            if (!finished && work.is_root_done()) {
                finished = true;
                moved = true;
                balance.finish(std::move(work.root()));
            }
            moved |= balance.step(now_ns());
            if (moved) {
                looks.moved();
                continue;
            }
            const looks_for next = !m_group->all_sent() || m_group->is_receiving() ? looks_for::transfer
                                   : balance.has_work()                            ? looks_for::asks
                                                                                   : looks_for::work;
            work.sleep(seen, looks.pause(next));
            looks.slept(next);
            if (m_group->take_rung()) {
                looks.rung();
            }
        }
        if (!work.has_no_branches()) {
            throw balance_error("a task that is no part of the run calls cluster::join or cluster::sum");
        }
        // Tasks that had nothing left to do may not have been taken from the queue yet.
        while (!work.is_quiet()) {
            work.sleep(work.events(), pace::shortest);
        }
        add_stats(balance.tallies());
        return std::move(balance.end());
    }

    void add_stats(const std::vector<rank_tally>& tallies) {
        for (std::size_t r = 0; r < tallies.size(); ++r) {
            const cluster::rank_stats& more = tallies[r].stats;
            cluster::rank_stats& sum = m_stats[r];
            sum.messages += more.messages;
            sum.bytes += more.bytes;
            sum.asks += more.asks;
            sum.thefts += more.thefts;
            sum.tasks_in += more.tasks_in;
            sum.tasks_out += more.tasks_out;
            sum.idle_ns += more.idle_ns;
        }
    }

    unsigned m_patience = patience_in_environment();
    int m_exceptions = std::uncaught_exceptions();
    // The pool ends first, then this rank waits for the others, then MPI ends.
    std::unique_ptr<process_group> m_group;
    end_together m_together;
    std::unique_ptr<elastic> m_elastic;
    pilfer::v0::pool m_pool;
    std::thread::id m_thread = std::this_thread::get_id();
    bool m_running = false;
    std::uint64_t m_runs = 0;
    std::vector<cluster::rank_stats> m_stats;
};

cluster_run::cluster_run(session_core& core, cluster_task& root) : m_core(&core), m_root(&root) {
    core.begin_run();
}
cluster_run::~cluster_run() { m_core->end_run(); }
bool cluster_run::has_others() const noexcept { return m_core->size() > 1 || m_core->is_elastic(); }
std::vector<std::byte> cluster_run::run_erased(void (*root)(const void*, cluster::archive&),
                                               const void* closure) const {
    return m_core->run(*m_root, root, closure);
}

} // namespace detail

namespace cluster {

session::session(int argc, char** argv, const options& o)
    : m_core(std::make_unique<detail::session_core>(argc, argv, o)) {}
session::~session() = default;
int session::rank() const noexcept { return static_cast<int>(m_core->rank()); }
int session::size() const noexcept { return static_cast<int>(m_core->size()); }
pool& session::pool() noexcept { return m_core->pool(); }
std::vector<rank_stats> session::stats() const { return m_core->stats(); }

} // namespace cluster
} // namespace v0
} // namespace pilfer
