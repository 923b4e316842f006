// The ranks of an MPI program. The only file that knows MPI.
//
// One thread makes all calls (MPI_THREAD_FUNNELED). None of them waits: two-sided calls and collectives of
// MPI 3.0 that begin, and tests that look. A blocking collective once made a small run cost ten times as
// much.
#include <mpi.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>
#include <utility>

#include <pilfer/detail/base/park.hpp>

#include "engines/group.hpp"
#include "jobqueue/rank_bell.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// A look that returns a flag, until it is true. The thread sleeps in between. False: `ns` are over.
template <class Look>
bool wait_until(Look look, std::uint64_t ns = std::numeric_limits<std::uint64_t>::max()) {
    constexpr std::uint64_t longest = 1'000'000;
    std::uint64_t pause = 20'000;
    std::uint64_t waited = 0;
    std::atomic<std::uint32_t> never{0};
    while (!look()) {
        if (waited >= ns) {
            return false;
        }
        futex_park::wait_for(never, 0, pause);
        waited += pause;
        pause = std::min(2 * pause, longest);
    }
    return true;
}

class mpi_group final : public process_group {
public:
    mpi_group(int argc, char** argv) {
        int ended = 0;
        MPI_Finalized(&ended);
        if (ended != 0) {
            throw std::runtime_error("pilfer::cluster: MPI has ended in this process");
        }
        int begun = 0;
        MPI_Initialized(&begun);
        if (begun == 0) {
            int granted = 0;
            MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &granted);
            m_ours = true;
        }
        int level = 0;
        MPI_Query_thread(&level);
        int is_main = 0;
        MPI_Is_thread_main(&is_main);
        if (level < MPI_THREAD_FUNNELED || (level == MPI_THREAD_FUNNELED && is_main == 0)) {
            if (m_ours) {
                MPI_Finalize();
            }
            throw std::runtime_error("pilfer::cluster: MPI was not initialised for calls of this thread: "
                                     "MPI_Init_thread with MPI_THREAD_FUNNELED, on the thread that makes the "
                                     "session");
        }
        // A world of its own, so that no message meets those of the program. Errors end the job, also where
        // the program has set another handler for its own calls.
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Comm_idup(MPI_COMM_WORLD, &m_world, &request);
        wait(request);
        MPI_Comm_idup(MPI_COMM_WORLD, &m_exit, &request);
        wait(request);
        MPI_Comm_set_errhandler(m_world, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(m_exit, MPI_ERRORS_ARE_FATAL);
        int number = 0;
        MPI_Comm_rank(m_world, &number);
        m_rank = static_cast<unsigned>(number);
        MPI_Comm_size(m_world, &number);
        m_size = static_cast<unsigned>(number);
        std::vector<std::byte> name(MPI_MAX_PROCESSOR_NAME);
        int length = 0;
        MPI_Get_processor_name(reinterpret_cast<char*>(name.data()), &length);
        for (const auto& bytes : gather(name)) {
            m_hosts.emplace_back(reinterpret_cast<const char*>(bytes.data()));
        }
        m_bell.meet(gather(m_bell.address()));
    }
    ~mpi_group() override {
        MPI_Comm_free(&m_world);
        MPI_Comm_free(&m_exit);
        if (m_ours) {
            MPI_Finalize(); // all ranks have come to leave()
        }
    }

    [[nodiscard]] unsigned rank() const noexcept override { return m_rank; }
    [[nodiscard]] unsigned size() const noexcept override { return m_size; }
    [[nodiscard]] std::string host(unsigned rank) const override { return m_hosts.at(rank); }

    void begin_run() override {
        // A fast rank may be in the next run while a slow one has not seen the end of this one; never two
        // runs ahead.
        m_tag = m_tag == 1 ? 2 : 1;
    }

    void send(unsigned to, std::vector<std::byte> message) override {
        if (message.size() > std::size_t{std::numeric_limits<int>::max()}) {
            throw std::length_error("a message of more than 2 GiB");
        }
        transfer& t = m_sends.emplace_back();
        t.bytes = std::move(message);
        MPI_Isend(t.bytes.data(), static_cast<int>(t.bytes.size()), MPI_BYTE, static_cast<int>(to), m_tag,
                  m_world, &t.request);
    }
    void wake(unsigned rank) noexcept override { m_bell.ring_at(rank); }
    bool all_sent() override {
        // From the oldest on: most have left in this order.
        while (!m_sends.empty() && is_done(m_sends.front().request)) {
            m_sends.pop_front();
        }
        return m_sends.empty();
    }
    bool receive(unsigned& from, std::vector<std::byte>& message) override {
        (void)all_sent(); // gives memory back
        accept();
        for (auto at = m_receives.begin(); at != m_receives.end(); ++at) {
            bool first_of_sender = true;
            for (auto before = m_receives.begin(); before != at; ++before) {
                first_of_sender = first_of_sender && before->from != at->from;
            }
            if (first_of_sender && is_done(at->request)) {
                from = at->from;
                message = std::move(at->bytes);
                m_receives.erase(at);
                return true;
            }
        }
        return false;
    }

    [[nodiscard]] bool is_receiving() const override { return !m_receives.empty(); }

    void begin_exchange(const rank_tally& mine) override {
        m_mine = mine;
        m_all.resize(m_size);
        MPI_Iallgather(&m_mine, sizeof m_mine, MPI_BYTE, m_all.data(), sizeof m_mine, MPI_BYTE, m_world,
                       &m_exchange);
    }
    bool end_exchange(std::vector<rank_tally>& all) override {
        if (!is_done(m_exchange)) {
            return false;
        }
        all = m_all;
        return true;
    }

    std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& mine) override {
        // The sizes, then as many bytes of each as the longest has.
        const std::uint64_t size = mine.size();
        std::vector<std::uint64_t> sizes(m_size);
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Iallgather(&size, sizeof size, MPI_BYTE, sizes.data(), sizeof size, MPI_BYTE, m_world, &request);
        wait(request);
        const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
        if (longest > std::size_t{std::numeric_limits<int>::max()}) {
            throw std::length_error("a message of more than 2 GiB");
        }
        std::vector<std::byte> padded = mine;
        padded.resize(longest);
        std::vector<std::byte> all(longest * m_size);
        MPI_Iallgather(padded.data(), static_cast<int>(longest), MPI_BYTE, all.data(),
                       static_cast<int>(longest), MPI_BYTE, m_world, &request);
        wait(request);
        std::vector<std::vector<std::byte>> result;
        for (unsigned r = 0; r < m_size; ++r) {
            const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r * longest);
            result.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(sizes[r]));
        }
        return result;
    }

    bool leave(unsigned seconds) override {
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Ibarrier(m_exit, &request);
        const std::uint64_t ns =
            seconds == 0 ? std::numeric_limits<std::uint64_t>::max() : seconds * 1'000'000'000ull;
        return wait_until([&] { return is_done(request); }, ns);
    }
    [[nodiscard]] doorbell& bell() noexcept override { return m_bell; }
    [[nodiscard]] bool take_rung() noexcept override { return m_bell.take_rung(); }
    void abort() noexcept override { MPI_Abort(MPI_COMM_WORLD, 1); }

private:
    struct transfer {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> bytes;
        unsigned from = 0;
    };

    [[nodiscard]] static bool is_done(MPI_Request& request) {
        int done = 0;
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        return done != 0;
    }
    static void wait(MPI_Request& request) {
        wait_until([&] { return is_done(request); });
    }
    /// Begins to receive each message that has been announced.
    void accept() {
        for (;;) {
            int is_there = 0;
            MPI_Message announced = MPI_MESSAGE_NULL;
            MPI_Status status;
            // Open MPI's probe takes what has arrived from the network after it has looked: the second one
            // sees it.
            for (int i = 0; i < 2 && is_there == 0; ++i) {
                MPI_Improbe(MPI_ANY_SOURCE, m_tag, m_world, &is_there, &announced, &status);
            }
            if (is_there == 0) {
                return;
            }
            int count = 0;
            MPI_Get_count(&status, MPI_BYTE, &count);
            transfer& t = m_receives.emplace_back();
            t.from = static_cast<unsigned>(status.MPI_SOURCE);
            t.bytes.resize(static_cast<std::size_t>(count));
            MPI_Imrecv(t.bytes.data(), count, MPI_BYTE, &announced, &t.request);
        }
    }

    MPI_Comm m_world = MPI_COMM_NULL;
    MPI_Comm m_exit = MPI_COMM_NULL; // of leave(): the other ranks may be in an exchange
    bool m_ours = false;             // MPI_Finalize() is left to this object
    unsigned m_rank = 0;
    unsigned m_size = 1;
    int m_tag = 0;
    std::vector<std::string> m_hosts;
    std::deque<transfer> m_sends;    // a deque, because the requests have addresses
    std::deque<transfer> m_receives; // in the order in which they were announced
    MPI_Request m_exchange = MPI_REQUEST_NULL;
    rank_tally m_mine;
    std::vector<rank_tally> m_all;
    rank_bell m_bell;
};

} // namespace

std::unique_ptr<process_group> make_group(int argc, char** argv) {
    return std::make_unique<mpi_group>(argc, argv);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
