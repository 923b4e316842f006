// The table of misuse: one row for each wrong call, and one runner, which also checks that nothing was lost
// by it.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <typeinfo>
#include <vector>

#include "support/harness.hpp"
#include "support/process.hpp"

namespace bad_input {

/// The exception that functions of the rows throw.
struct spoiled : std::runtime_error {
    spoiled() : std::runtime_error("spoiled") {}
};

/// The end of a row: nothing is thrown.
inline const std::type_info* const accepted = nullptr;

struct row {
    const char* name;
    void (*call)(pilfer::pool&); ///< on the test's thread; the pool has two workers and lives on
    const std::type_info* error; ///< exactly this type, or `accepted`
    const char* text = "";       ///< a piece of what()
};

inline std::ostream& operator<<(std::ostream& out, const row& r) { return out << r.name; }

struct row_name {
    template <class Row>
    std::string operator()(const testing::TestParamInfo<Row>& one) const {
        return one.param.name;
    }
};

inline void expect_error(const row& r, const std::function<void()>& call) {
    try {
        call();
        EXPECT_EQ(r.error, accepted) << "nothing was thrown";
    } catch (const std::exception& e) {
        ASSERT_NE(r.error, accepted) << typeid(e).name() << ": " << e.what();
        EXPECT_EQ(typeid(e), *r.error) << typeid(e).name() << ": " << e.what();
        EXPECT_NE(std::string(e.what()).find(r.text), std::string::npos) << e.what();
    }
}

class rows : public testing::TestWithParam<row> {
protected:
    static void run_row() {
        (void)pilfer::pool::common(); // its threads stay
        const auto before = support::thread_count();
        {
            pilfer::pool pool(support::workers(2));
            std::atomic<int> ran{0};
            const auto submit = [&] {
                for (int i = 0; i < 10; ++i) {
                    (void)pool.async([&ran] { ran.fetch_add(1); });
                }
            };
            submit();
            expect_error(GetParam(), [&] { GetParam().call(pool); });
            submit();
            EXPECT_EQ(pool.run([] { return support::fib_join(8); }), support::fib(8));
            EXPECT_EQ(pool.run([] { return support::fib_spawn(7); }), support::fib(7));
            EXPECT_EQ(pool.run([] { return support::fib_fork(7); }), support::fib(7));
            pool.shutdown();
            EXPECT_EQ(ran, 20);
        }
        EXPECT_TRUE(support::threads_become(before));
    }

private:
    support::watchdog m_watchdog{40};
};

/// A function that throws when it is copied, moved, or called.
struct spoils_copy {
    spoils_copy() = default;
    spoils_copy(const spoils_copy&) { throw spoiled(); }
    void operator()() const {}
};
struct spoils_move {
    spoils_move() = default;
    spoils_move(spoils_move&&) { throw spoiled(); } // NOLINT(*-noexcept-move*): that is its purpose
    void operator()() const {}
};

} // namespace bad_input
