// Misuse that ends the process or spoils it for others: each row in a child. Also the accepted values of
// PILFER_WORKERS, PILFER_BALANCE, PILFER_PIN, PILFER_SPIN and PILFER_STACK.
#include "bad_input/rows.hpp"
#include "balance/text.hpp"
#include "support/child.hpp"

namespace {

using namespace bad_input;

/// The text, and the number of workers; 0: refused, with the text, the variable and the range in the message.
struct environment_row {
    const char* name;
    std::string text;
    unsigned workers;
};

std::ostream& operator<<(std::ostream& out, const environment_row& r) { return out << r.name; }

const environment_row environments[] = {
    {"one", "1", 1},
    {"leading_zeros", "003", 3},
    {"empty", "", 0},
    {"space", " ", 0},
    {"zero", "0", 0},
    {"zeros", "0000", 0},
    {"above", "4097", 0},
    {"minus_one", "-1", 0},
    {"minus_zero", "-0", 0},
    {"plus", "+4", 0},
    {"minus_alone", "-", 0},
    {"space_before", " 4", 0},
    {"space_behind", "4 ", 0},
    {"tabulator", "\t4", 0},
    {"line_end", "4\n", 0},
    {"two_numbers", "4 5", 0},
    {"list", "4,5", 0},
    {"word", "four", 0},
    {"letter_behind", "4x", 0},
    {"letter_before", "x4", 0},
    {"hexadecimal", "0x4", 0},
    {"fraction", "3.5", 0},
    {"exponent", "1e2", 0},
    {"not_a_number", "nan", 0},
    {"infinity", "inf", 0},
    {"percent", "50%", 0},
    {"two_to_the_32", "4294967296", 0},
    {"two_to_the_32_and_one", "4294967297", 0},
    {"two_to_the_64_and_one", "18446744073709551617", 0},
    {"many_nines", std::string(100'000, '9'), 0},
    {"many_zeros", std::string(100'000, '0'), 0},
    {"other_digits", "\xd9\xa4", 0},
    {"no_utf8", "4\xff", 0},
    {"format", "%s%n", 0},
};

class bad_input_environment : public testing::TestWithParam<environment_row> {
    support::watchdog m_watchdog{40};
};

TEST_P(bad_input_environment, row) {
    const auto result = support::in_child([] {
        const environment_row& r = GetParam();
        setenv("PILFER_WORKERS", r.text.c_str(), 1);
        try {
            pilfer::pool pool;
            return pool.workers() == r.workers && pool.run([] { return support::fib_join(5); }) == 5 ? 0 : 1;
        } catch (const std::invalid_argument& e) {
            const std::string said = e.what();
            const bool names_all = said.find("PILFER_WORKERS") != std::string::npos &&
                                   said.find("from 1 to 4096") != std::string::npos &&
                                   said.find('"' + r.text + '"') != std::string::npos;
            // A wrong text spoils the automatic number only.
            pilfer::pool pool(support::workers(2));
            const bool works = pool.run([] { return support::fib_join(5); }) == 5;
            return r.workers == 0 && names_all && works ? 0 : 2;
        }
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_environment, testing::ValuesIn(environments), row_name());

/// A text that PILFER_SPIN or PILFER_STACK may not have.
struct variable_row {
    const char* name;
    const char* variable;
    std::string text;
};

std::ostream& operator<<(std::ostream& out, const variable_row& r) { return out << r.name; }

const variable_row variables[] = {
    {"spin_empty", "PILFER_SPIN", ""},
    {"spin_other_case", "PILFER_SPIN", "Battery"},
    {"spin_piece", "PILFER_SPIN", "bat"},
    {"spin_letter_behind", "PILFER_SPIN", "latencyy"},
    {"spin_space_behind", "PILFER_SPIN", "battery "},
    {"spin_two", "PILFER_SPIN", "battery,latency"},
    {"spin_number", "PILFER_SPIN", "1"},
    {"spin_the_option_that_asks_for_it", "PILFER_SPIN", "automatic"},
    {"spin_very_long", "PILFER_SPIN", std::string(100'000, 'x')},
    {"spin_no_utf8", "PILFER_SPIN", "battery\xff"},
    {"spin_format", "PILFER_SPIN", "%s%n"},
    {"stack_empty", "PILFER_STACK", ""},
    {"stack_zero", "PILFER_STACK", "0"},
    {"stack_below", "PILFER_STACK", "16383"},
    {"stack_below_in_k", "PILFER_STACK", "15K"},
    {"stack_above", "PILFER_STACK", "1073741825"},
    {"stack_above_in_k", "PILFER_STACK", "1048577K"},
    {"stack_above_in_m", "PILFER_STACK", "1025M"},
    {"stack_above_in_g", "PILFER_STACK", "2G"},
    {"stack_wraps_in_k", "PILFER_STACK", "18014398509482000K"},
    {"stack_wraps_in_m", "PILFER_STACK", "17592186044416M"},
    {"stack_two_to_the_64_and_more", "PILFER_STACK", "18446744073709813760"},
    {"stack_minus", "PILFER_STACK", "-1M"},
    {"stack_plus", "PILFER_STACK", "+1M"},
    {"stack_space_before", "PILFER_STACK", " 1M"},
    {"stack_space_between", "PILFER_STACK", "1 M"},
    {"stack_space_behind", "PILFER_STACK", "1M "},
    {"stack_line_end", "PILFER_STACK", "1M\n"},
    {"stack_two_letters", "PILFER_STACK", "1MB"},
    {"stack_two_letters_more", "PILFER_STACK", "1KiB"},
    {"stack_other_letter", "PILFER_STACK", "1T"},
    {"stack_letter_alone", "PILFER_STACK", "M"},
    {"stack_letter_before", "PILFER_STACK", "K256"},
    {"stack_fraction", "PILFER_STACK", "1.5M"},
    {"stack_hexadecimal", "PILFER_STACK", "0x100000"},
    {"stack_exponent", "PILFER_STACK", "1e6"},
    {"stack_word", "PILFER_STACK", "large"},
    {"stack_many_nines", "PILFER_STACK", std::string(100'000, '9')},
    {"stack_many_zeros", "PILFER_STACK", std::string(100'000, '0')},
    {"stack_no_utf8", "PILFER_STACK", "1M\xff"},
    {"stack_format", "PILFER_STACK", "%s%n"},
};

class bad_input_variable : public testing::TestWithParam<variable_row> {
    support::watchdog m_watchdog{40};
};

TEST_P(bad_input_variable, row) {
    const auto result = support::in_child([] {
        const variable_row& r = GetParam();
        setenv(r.variable, r.text.c_str(), 1);
        try {
            const pilfer::pool pool;
            return 1;
        } catch (const std::invalid_argument& e) {
            const std::string said = e.what();
            const bool names_all = said.find(std::string(r.variable) + " must be ") != std::string::npos &&
                                   said.find('"' + r.text + '"') != std::string::npos;
            // A wrong text spoils the automatic choice only.
            pilfer::options o = support::workers(2);
            o.spin = pilfer::idle::battery;
            o.stack_size = std::size_t{1} << 20;
            pilfer::pool pool(o);
            return names_all && pool.run([] { return support::fib_join(5); }) == 5 ? 0 : 2;
        }
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_variable, testing::ValuesIn(variables), row_name());

/// A text that PILFER_PIN may not have.
struct pin_row {
    const char* name;
    std::string text;
};

std::ostream& operator<<(std::ostream& out, const pin_row& r) { return out << r.name; }

const pin_row pins[] = {
    {"empty", ""},
    {"other_case", "Compact"},
    {"piece", "comp"},
    {"letter_behind", "spreads"},
    {"space_behind", "off "},
    {"two_names", "compact,spread"},
    {"number", "1"},
    {"the_option_that_asks_for_it", "automatic"},
    {"very_long", std::string(100'000, 'x')},
    {"no_utf8", "off\xff"},
    {"format", "%s%n"},
};

class bad_input_pin : public testing::TestWithParam<pin_row> {
    support::watchdog m_watchdog{40};
};

TEST_P(bad_input_pin, row) {
    const auto result = support::in_child([] {
        const pin_row& r = GetParam();
        setenv("PILFER_PIN", r.text.c_str(), 1);
        try {
            const pilfer::pool pool;
            return 1;
        } catch (const std::invalid_argument& e) {
            const std::string said = e.what();
            const bool names_all =
                said.find("PILFER_PIN must be off, compact or spread") != std::string::npos &&
                said.find('"' + r.text + '"') != std::string::npos;
            // A wrong text spoils the automatic choice only.
            pilfer::options o = support::workers(2);
            o.pin = pilfer::pinning::off;
            pilfer::pool pool(o);
            return names_all && pool.run([] { return support::fib_join(5); }) == 5 ? 0 : 2;
        }
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_pin, testing::ValuesIn(pins), row_name());

/// PILFER_BACKEND, which a pool that names one does not ask.
class bad_input_backend : public testing::TestWithParam<pin_row> {
    support::watchdog m_watchdog{40};
};

const pin_row backends[] = {
    {"empty", ""},
    {"other_case", "One_Lock"},
    {"hyphen", "one-lock"},
    {"space_behind", "one_lock "},
    {"the_option_that_asks_for_it", "automatic"},
    {"very_long", std::string(100'000, 'x')},
    {"no_utf8", "one_lock\xff"},
    {"format", "%s%n"},
};

TEST_P(bad_input_backend, row) {
    const auto result = support::in_child([] {
        const pin_row& r = GetParam();
        setenv("PILFER_BACKEND", r.text.c_str(), 1);
        try {
            const pilfer::pool pool;
            return 1;
        } catch (const std::invalid_argument& e) {
            const std::string said = e.what();
            const bool names_all =
                said.find("PILFER_BACKEND must be work_stealing or one_lock") != std::string::npos &&
                said.find('"' + r.text + '"') != std::string::npos;
            pilfer::options o = support::workers(2);
            o.backend = pilfer::backend::one_lock;
            pilfer::pool pool(o);
            return names_all && pool.run([] { return support::fib_join(5); }) == 5 ? 0 : 2;
        }
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_backend, testing::ValuesIn(backends), row_name());

/// The text, and the settings that the pool then has; null: refused, with `says` in the message.
struct balance_row {
    const char* name;
    std::string text;
    const char* becomes;
    const char* says = "";
};

std::ostream& operator<<(std::ostream& out, const balance_row& r) { return out << r.name; }

const balance_row balances[] = {
    {"three", "half,ring,always-public", "half,ring,always-public"},
    {"in_any_order", "threshold:4:2:1/3,1/2,longest", "half,longest,threshold:4:2:1/3"},
    {"the_rest", "all-but-one,sticky,short-eager:7", "all-but-one,sticky,short-eager:7"},
    {"one_word", "one,nearest,waiter-first", "one,nearest,waiter-first"},
    {"adaptive", "adaptive,random,doubling", "adaptive,random,doubling"},
    {"empty", "", nullptr, "known are one, half, all-but-one, adaptive, P/Q; random, sticky, ring,"},
    {"unknown", "halve", nullptr, "\"halve\" is no policy; known are"},
    {"unknown_among_known", "half,rings", nullptr, "\"rings\" is no policy"},
    {"twice", "half,1/3", nullptr, "\"1/3\" is a second amount"},
    {"comma_behind", "half,", nullptr, "\"\" is no policy"},
    {"space", "half, ring", nullptr, "\" ring\" is no policy"},
    {"upper_case", "HALF", nullptr, "is no policy"},
    {"no_fraction", "5/4", nullptr, "P/Q needs 1 <= P <= Q <= 65536"},
    {"no_number", "threshold:1:1:x", nullptr, "threshold:N:M:A"},
    {"number_above", "short-eager:65537", nullptr, "1 <= K <= 65536"},
    {"many", std::string(100'000, ','), nullptr, "is no policy"},
    {"long", std::string(100'000, 'x'), nullptr, "is no policy"},
    {"no_utf8", "half\xff", nullptr, "is no policy"},
    {"format", "%s%n", nullptr, "is no policy"},
};

class bad_input_balance : public testing::TestWithParam<balance_row> {
    support::watchdog m_watchdog{40};
};

TEST_P(bad_input_balance, row) {
    const auto result = support::in_child([] {
        const balance_row& r = GetParam();
        setenv("PILFER_BALANCE", r.text.c_str(), 1);
        try {
            pilfer::pool pool(support::workers(3));
            const bool works = pool.run([] { return support::fib_join(10); }) == 55;
            return r.becomes != nullptr && pilfer::balance::name(pool.settings().balance) == r.becomes &&
                           works
                       ? 0
                       : 1;
        } catch (const std::invalid_argument& e) {
            const std::string said = e.what();
            return r.becomes == nullptr && said.find("PILFER_BALANCE") != std::string::npos &&
                           said.find(r.says) != std::string::npos
                       ? 0
                       : 2;
        }
    });
    EXPECT_TRUE(result.exited_with(0)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_balance, testing::ValuesIn(balances), row_name());

/// A row that ends the process, or needs one of its own: its last words, and its end (0: exit code 0).
struct process_row {
    const char* name;
    int (*body)();
    int signal;
    const char* said;
};

std::ostream& operator<<(std::ostream& out, const process_row& r) { return out << r.name; }

template <class F>
bool is_closed(F f) {
    try {
        f();
    } catch (const pilfer::pool_closed&) {
        return true;
    }
    return false;
}

const process_row processes[] = {
    {"pool_deleted_by_its_async",
     [] {
         auto* pool = new pilfer::pool(support::workers(2));
         pool->async([pool] { delete pool; }).get();
         return 0;
     },
     SIGABRT, "destroyed by one of its own tasks"},
    {"pool_deleted_by_a_spawned_child",
     [] {
         auto* pool = new pilfer::pool(support::workers(2));
         pool->run([pool] {
             pilfer::scope s;
             s.spawn([pool] { delete pool; });
             s.sync();
         });
         return 0;
     },
     SIGABRT, "destroyed by one of its own tasks"},
    {"pool_deleted_by_a_loop_body",
     [] {
         auto* pool = new pilfer::pool(support::workers(1));
         pool->run([pool] { pilfer::for_each(0, 1, [pool](int) { delete pool; }); });
         return 0;
     },
     SIGABRT, "destroyed by one of its own tasks"},
    {"scope_ends_with_an_exception_of_a_spawned_child",
     [] {
         pilfer::pool pool(support::workers(1));
         pool.run([] {
             pilfer::scope s;
             s.spawn([] { throw spoiled(); });
         });
         return 0;
     },
     SIGABRT, ""},
    {"scope_ends_with_an_exception_of_a_forked_child",
     [] {
         pilfer::pool pool(support::workers(1));
         pool.run([] {
             pilfer::scope s;
             s.fork([] { throw spoiled(); });
         });
         return 0;
     },
     SIGABRT, ""},
    {"everything_outside_a_pool_when_the_common_one_is_shut_down",
     [] {
         pilfer::pool::common().shutdown();
         const bool all = is_closed([] { (void)pilfer::join([] {}, [] {}); }) &&
                          is_closed([] { (void)pilfer::async([] {}); }) &&
                          is_closed([] { pilfer::for_each(0, 9, [](int) {}); }) && is_closed([] {
                              (void)pilfer::reduce(
                                  0, 9, 0, [](int i) { return i; }, std::plus<>());
                          }) &&
                          is_closed([] {
                              pilfer::scope s;
                              s.spawn([] {});
                          }) &&
                          is_closed([] {
                              pilfer::scope s;
                              s.fork([] {});
                          });
         return all ? 0 : 1;
     },
     0, ""},
};

class bad_input_process : public testing::TestWithParam<process_row> {
    support::watchdog m_watchdog{40};
};

TEST_P(bad_input_process, row) {
    const process_row& r = GetParam();
    const auto result = support::in_child(r.body);
    EXPECT_TRUE(r.signal == 0 ? result.exited_with(0) : result.killed_by(r.signal)) << result;
    EXPECT_TRUE(result.said(r.said)) << result;
}

INSTANTIATE_TEST_SUITE_P(table, bad_input_process, testing::ValuesIn(processes), row_name());

} // namespace
