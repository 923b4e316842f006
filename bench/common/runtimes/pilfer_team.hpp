// pilfer by loop_team: one team for the whole program, for kernels of loops that follow each other.
#pragma once

#include <cstddef>
#include <optional>
#include <pilfer/pilfer.hpp>

namespace bench {

struct runtime {
    static constexpr const char* name = "pilfer_team";

    class session {
    public:
        session(unsigned workers, std::size_t /*stack_bytes*/)
            : m_pool(pilfer::options{.workers = workers}) {}
        template <class F>
        void run(F&& f) {
            m_pool.run([&] {
                s_team.emplace();
                f();
                s_team.reset();
            });
        }
        template <class F>
        void run_flat(F&& f) {
            run(f);
        }

    private:
        pilfer::pool m_pool;
    };

    template <class Body>
    static void loop(std::size_t n, const Body& body) {
        s_team->for_each(std::size_t{0}, n, body);
    }
    /// body(begin, end) for parts of [first, last).
    template <class Body>
    static void parts(std::size_t first, std::size_t last, const Body& body) {
        s_team->for_each_chunk(first, last, body);
    }

private:
    inline static std::optional<pilfer::loop_team> s_team;
};

} // namespace bench
