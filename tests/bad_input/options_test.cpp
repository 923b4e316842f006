// Options, below, at and above each range.
// Optimised in every build: a task must fit on the smallest stack.
#include <climits>
#include <cstdint>

#include "bad_input/rows.hpp"

namespace {

using namespace bad_input;

const auto* const invalid = &typeid(std::invalid_argument);

#define OPTION(name, change, error, text)                                                                    \
    row {                                                                                                    \
        name,                                                                                                \
            [](pilfer::pool&) {                                                                              \
                pilfer::options o = support::workers(1);                                                     \
                change;                                                                                      \
                pilfer::pool made(o);                                                                        \
                EXPECT_EQ(made.run([] { return support::fib_join(5); }), support::fib(5));                   \
            },                                                                                               \
            error, text                                                                                      \
    }

constexpr std::size_t kib = 1024;
constexpr std::size_t gib = std::size_t{1} << 30;

const row options[] = {
    OPTION("workers_above", o.workers = 4097, invalid, "options.workers must be from 1 to 4096"),
    OPTION("workers_huge", o.workers = UINT_MAX, invalid, "not 4294967295"),
    OPTION("workers_minus_one", o.workers = static_cast<unsigned>(-1), invalid, "options.workers"),
    OPTION("workers_one", o.workers = 1, accepted, ""),
    OPTION("stack_size_automatic", o.stack_size = 0, accepted, ""),
    OPTION("stack_size_one", o.stack_size = 1, invalid,
           "options.stack_size must be from 16384 to 1073741824 (or 0 for automatic), not 1"),
    OPTION("stack_size_below", o.stack_size = 16 * kib - 1, invalid, "not 16383"),
    OPTION("stack_size_least", o.stack_size = 16 * kib, accepted, ""),
    OPTION("stack_size_no_multiple_of_a_page", o.stack_size = 64 * kib + 1, accepted, ""),
    OPTION("stack_size_above", o.stack_size = gib + 1, invalid, "not 1073741825"),
    OPTION("stack_size_huge", o.stack_size = SIZE_MAX, invalid, "options.stack_size"),
    OPTION("stack_size_half_of_everything", o.stack_size = SIZE_MAX / 2 + 1, invalid, "options.stack_size"),
    OPTION("max_extra_workers_none", o.max_extra_workers = 0, accepted, ""),
    OPTION("max_extra_workers_greatest", o.max_extra_workers = 4096, accepted, ""),
    OPTION("max_extra_workers_above", o.max_extra_workers = 4097, invalid,
           "options.max_extra_workers must be from 0 to 4096"),
    OPTION("max_contexts_least", o.max_contexts = 1, accepted, ""),
    OPTION("max_contexts_greatest", o.max_contexts = std::size_t{1} << 31, accepted, ""),
    OPTION("max_contexts_above", o.max_contexts = (std::size_t{1} << 31) + 1, invalid,
           "options.max_contexts must be from 0 to 2147483648"),
    OPTION("max_contexts_huge", o.max_contexts = SIZE_MAX, invalid, "options.max_contexts"),
    OPTION("exposure_above", o.balance.exposure = static_cast<pilfer::exposure>(7), invalid,
           "options.balance.exposure must be from 0 to 6"),
    OPTION("exposure_negative", o.balance.exposure = static_cast<pilfer::exposure>(-1), invalid,
           "options.balance.exposure"),
    OPTION("exposure_huge", o.balance.exposure = static_cast<pilfer::exposure>(INT_MAX), invalid,
           "options.balance.exposure"),
    OPTION("exposure_greatest", o.balance.exposure = pilfer::exposure::waiter_first, accepted, ""),
    OPTION("exposure_least", o.balance.exposure = pilfer::exposure::automatic, accepted, ""),
    OPTION("victim_above", o.balance.victim = static_cast<pilfer::victim>(6), invalid,
           "options.balance.victim must be from 0 to 5"),
    OPTION("victim_negative", o.balance.victim = static_cast<pilfer::victim>(-1), invalid,
           "options.balance.victim"),
    OPTION("victim_greatest", o.balance.victim = pilfer::victim::longest, accepted, ""),
    OPTION("steal_above", o.balance.steal.what = static_cast<pilfer::steal_amount::rule>(5), invalid,
           "options.balance.steal.what must be from 0 to 4"),
    OPTION("steal_negative", o.balance.steal.what = static_cast<pilfer::steal_amount::rule>(-1), invalid,
           "options.balance.steal.what"),
    OPTION("steal_greatest", o.balance.steal = pilfer::steal_amount::adaptive(), accepted, ""),
    OPTION("steal_nothing", o.balance.steal = pilfer::steal_amount::part(0, 2), invalid,
           "options.balance.steal.numerator must be from 1 to 2"),
    OPTION("steal_of_nothing", o.balance.steal = pilfer::steal_amount::part(0, 0), invalid,
           "options.balance.steal.denominator must be from 1 to 65536"),
    OPTION("steal_more_than_all", o.balance.steal = pilfer::steal_amount::part(3, 2), invalid, "not 3"),
    OPTION("steal_denominator_above", o.balance.steal = pilfer::steal_amount::part(1, 65'537), invalid,
           "not 65537"),
    OPTION("steal_all", o.balance.steal = pilfer::steal_amount::part(65'536, 65'536), accepted, ""),
    OPTION("threshold_at_least_below", o.balance.threshold.at_least = 0, invalid,
           "options.balance.threshold.at_least must be from 1 to 4611686018427387904"),
    OPTION("threshold_at_least_above", o.balance.threshold.at_least = (std::uint64_t{1} << 62) + 1, invalid,
           "options.balance.threshold.at_least"),
    OPTION("threshold_below_below", o.balance.threshold.below = 0, invalid,
           "options.balance.threshold.below must be from 1 to 4611686018427387904"),
    OPTION("threshold_below_above", o.balance.threshold.below = UINT64_MAX, invalid,
           "options.balance.threshold.below"),
    OPTION("threshold_count_above", o.balance.threshold.count = UINT64_MAX, invalid,
           "options.balance.threshold.count must be from 0 to 4611686018427387904"),
    OPTION("threshold_numerator_below", o.balance.threshold.numerator = 0, invalid,
           "options.balance.threshold.numerator must be from 1 to 2"),
    OPTION("threshold_numerator_above", o.balance.threshold.numerator = 3, invalid,
           "options.balance.threshold.numerator"),
    OPTION("threshold_denominator_below", o.balance.threshold.denominator = 0, invalid,
           "options.balance.threshold.denominator must be from 1 to 65536"),
    OPTION("threshold_greatest",
           (o.balance.exposure = pilfer::exposure::threshold,
            o.balance.threshold = {std::uint64_t{1} << 62, std::uint64_t{1} << 62, std::uint64_t{1} << 62, 1,
                                   65'536}),
           accepted, ""),
    OPTION("eager_below", o.balance.eager = 0, invalid, "options.balance.eager must be from 1 to 65536"),
    OPTION("eager_above", o.balance.eager = 65'537, invalid, "not 65537"),
    OPTION("eager_greatest", (o.balance.exposure = pilfer::exposure::short_eager, o.balance.eager = 65'536),
           accepted, ""),
    OPTION("spin_above", o.spin = static_cast<pilfer::idle>(4), invalid, "options.spin must be from 0 to 3"),
    OPTION("spin_negative", o.spin = static_cast<pilfer::idle>(-1), invalid, "options.spin"),
    OPTION("spin_greatest", o.spin = pilfer::idle::battery, accepted, ""),
    OPTION("name_longest", o.name = "abcdefghij", accepted, ""),
    OPTION("name_too_long", o.name = "abcdefghijk", invalid, "options.name must be at most 10 bytes long"),
    OPTION("name_very_long", o.name = std::string(100'000, 'x'), invalid, "options.name"),
    OPTION("name_with_a_line_end", o.name = "a\nb", invalid, "without control characters"),
    OPTION("name_with_a_zero", o.name = std::string("a\0b", 3), invalid, "options.name"),
    OPTION("name_deleted", o.name = "\x7f", invalid, "options.name"),
    OPTION("name_no_utf8", o.name = "\xff\xfe", accepted, ""),
    OPTION("name_format", o.name = "%s%n", accepted, ""),
    OPTION("name_empty", o.name = "", accepted, ""),
    OPTION("priority_below", o.priority = -21, invalid, "options.priority must be from -20 to 19, not -21"),
    OPTION("priority_above", o.priority = 20, invalid, "not 20"),
    OPTION("priority_least_int", o.priority = INT_MIN, invalid, "options.priority"),
    OPTION("priority_greatest_int", o.priority = INT_MAX, invalid, "options.priority"),
    OPTION("priority_that_may_be_refused", o.priority = -20, accepted, ""),
    OPTION("priority_greatest", o.priority = 19, accepted, ""),
    OPTION(
        "on_start_that_throws", o.on_start = [](unsigned) { throw spoiled(); }, &typeid(spoiled), "spoiled"),
    OPTION("on_start_of_one_worker_that_throws",
           (
               o.workers = 2, o.on_start = [](unsigned i) { i == 1 ? throw spoiled() : 0; }),
           &typeid(spoiled), "spoiled"),
    OPTION("resume_above", o.resume = static_cast<pilfer::resume>(3), invalid,
           "options.resume must be from 0 to 2"),
    OPTION("resume_negative", o.resume = static_cast<pilfer::resume>(-1), invalid, "options.resume"),
    OPTION("resume_least_int", o.resume = static_cast<pilfer::resume>(INT_MIN), invalid, "options.resume"),
    OPTION("resume_greatest", o.resume = pilfer::resume::elsewhere, accepted, ""),
    OPTION("backend_above", o.backend = static_cast<pilfer::backend>(3), invalid,
           "options.backend must be from 0 to 2"),
    OPTION("backend_negative", o.backend = static_cast<pilfer::backend>(-1), invalid, "options.backend"),
    OPTION("backend_greatest", o.backend = pilfer::backend::one_lock, accepted, ""),
    OPTION("backend_that_never_moves",
           (o.backend = pilfer::backend::one_lock, o.resume = pilfer::resume::elsewhere), invalid,
           "options.resume must not be elsewhere with backend one_lock"),
    OPTION("backend_that_records_nothing", (o.backend = pilfer::backend::one_lock, o.debug.profile = true),
           invalid, "a pool with backend one_lock cannot record"),
    OPTION("backend_without_bounds",
           (o.backend = pilfer::backend::one_lock, o.when_full = pilfer::when_full::fail), invalid,
           "options.when_full must be grow with backend one_lock"),
    OPTION("attachable_above", o.attachable = 65, invalid, "options.attachable must be from 0 to 64, not 65"),
    OPTION("attachable_greatest", o.attachable = 64, accepted, ""),
    OPTION("attachable_to_a_recording", (o.attachable = 1, o.workers = 1, o.debug.profile = true), accepted,
           ""),
    OPTION("attachable_to_one_lock", (o.attachable = 1, o.backend = pilfer::backend::one_lock), accepted, ""),
    row{"attachable_to_one_lock_again",
        [](pilfer::pool&) {
            pilfer::options o = support::workers(1);
            o.attachable = 1;
            o.backend = pilfer::backend::one_lock;
            const pilfer::pool made(o);
            const pilfer::pool again(made.settings());
            EXPECT_EQ(again.settings().attachable, 1U);
        },
        accepted, ""},
    OPTION("attachable_to_own_threads", (o.attachable = 1, o.resume = pilfer::resume::own_thread), invalid,
           "unless options.resume is anywhere"),
    OPTION("take_back_above", o.balance.unshare = static_cast<pilfer::unshare>(2), invalid,
           "options.balance.unshare must be from 0 to 1"),
    OPTION("take_back_negative", o.balance.unshare = static_cast<pilfer::unshare>(-1), invalid,
           "options.balance.unshare"),
    OPTION("take_back_greatest", o.balance.unshare = pilfer::unshare::all, accepted, ""),
    OPTION("pin_above", o.pin = static_cast<pilfer::pinning>(4), invalid, "options.pin must be from 0 to 3"),
    OPTION("pin_negative", o.pin = static_cast<pilfer::pinning>(-1), invalid, "options.pin"),
    OPTION("pin_greatest", o.pin = pilfer::pinning::spread, accepted, ""),
    OPTION("queue_capacity_none", o.queue_capacity = 0, invalid,
           "options.queue_capacity must be from 1 to 2147483648"),
    OPTION("queue_capacity_above", o.queue_capacity = (std::size_t{1} << 31) + 1, invalid, "not 2147483649"),
    OPTION("queue_capacity_least", (o.queue_capacity = 1, o.when_full = pilfer::when_full::wait), accepted,
           ""),
    OPTION("when_full_above", o.when_full = static_cast<pilfer::when_full>(3), invalid,
           "options.when_full must be from 0 to 2"),
    OPTION("when_full_negative", o.when_full = static_cast<pilfer::when_full>(-1), invalid,
           "options.when_full"),
    OPTION("the_first_wrong_field_is_named", (o.stack_size = 1, o.workers = 5000), invalid,
           "options.workers"),
};

class bad_input_option : public rows {};
TEST_P(bad_input_option, row) { run_row(); }
INSTANTIATE_TEST_SUITE_P(table, bad_input_option, testing::ValuesIn(options), row_name());

} // namespace
