// uts, sortlines and wordcount with every runtime.
#include <random>
#include <stdexcept>
#include <system_error>
#include <tuple>

#include "models.hpp"
#include "sandbox.hpp"
#include "uts.hpp"

namespace {

using runtime_and_workers = std::tuple<char const*, unsigned>;

std::string name_of(::testing::TestParamInfo<runtime_and_workers> const& instance) {
    return std::string(std::get<0>(instance.param)) + '_' + std::to_string(std::get<1>(instance.param));
}

class programs : public showcase_test::sandbox, public ::testing::WithParamInterface<runtime_and_workers> {
public:
    static showcase::outcome run(char const* program, std::string const& input, std::size_t stack_size = 0) {
        showcase::job what;
        what.program = program;
        what.runtime = std::get<0>(GetParam());
        what.workers = std::get<1>(GetParam());
        what.input = input;
        what.stack_size = stack_size;
        return showcase::run_job(what);
    }

    void expect_sorted_like_sort(std::string const& text) {
        std::string const path = write("text", text);
        auto const expected = showcase_test::shell("LC_ALL=C sort " + showcase_test::quoted(path) +
                                                   " | sha256sum | cut -c 1-64");
        ASSERT_EQ(expected.code, 0);
        showcase::outcome const done = run("sortlines", path);
        EXPECT_EQ(done.result + '\n', expected.text) << "a text of " << text.size() << " bytes";
        bool const unfinished = !text.empty() && text.back() != '\n';
        EXPECT_EQ(done.bytes, text.size() + (unfinished ? 1 : 0));
    }
};

TEST_P(programs, uts_t1_has_its_known_number_of_nodes) {
    showcase::outcome const done = run("uts", "T1");
    EXPECT_EQ(done.items, 4'130'071U);
    EXPECT_EQ(done.result, "4130071");
    EXPECT_GT(done.seconds, 0);
}

TEST_P(programs, uts_t3_is_deep_and_has_its_known_number_of_nodes) {
    EXPECT_EQ(run("uts", "T3", showcase::tree_named("T3").stack_size).items, 4'112'897U);
}

TEST_P(programs, sortlines_equals_sort_on_small_texts) {
    for (char const* const text :
         {"", "\n", "a", "a\n", "b\na", "b\na\n", "\n\n\n", "\xff\na\n\x01\n", "ab\na\nabc\n\n"})
        expect_sorted_like_sort(text);
    expect_sorted_like_sort(std::string("b\0c\nb\n\0\na\0\n", 11));
}

TEST_P(programs, sortlines_equals_sort_around_the_size_of_its_pieces) {
    constexpr std::size_t piece = 1U << 20U;
    for (std::size_t const size : {piece - 1, piece, piece + 1, 2 * piece}) {
        expect_sorted_like_sort(std::string(size, 'x'));
        expect_sorted_like_sort(std::string(size - 1, 'x') + '\n');
        expect_sorted_like_sort('y' + std::string(size - 1, '\n'));
    }
    // A line that begins in one piece and ends two pieces later.
    expect_sorted_like_sort("z\n" + std::string(2 * piece + 77, 'm') + "\na\n");
}

TEST_P(programs, sortlines_equals_sort_on_a_large_random_text) {
    std::mt19937 random(20);
    std::string text;
    while (text.size() < 5'000'000) {
        // Short lines over few letters: many are equal, many are a prefix of another.
        for (auto length = random() % 24; length > 0; --length)
            text += static_cast<char>(random() % 16 == 0 ? random() % 256 : 'a' + random() % 3);
        text += '\n';
    }
    expect_sorted_like_sort(text);
}

TEST_P(programs, wordcount_equals_uniq) {
    constexpr std::size_t piece = 1U << 20U;
    std::mt19937 random(4);
    std::string prose;
    while (prose.size() < 3 * piece) {
        for (auto length = 1 + random() % 5; length > 0; --length)
            prose += static_cast<char>((random() % 8 == 0 ? 'A' : 'a') + random() % 5);
        prose += random() % 9 == 0 ? static_cast<char>(random() % 64) : ' ';
    }
    // Words across the ends of pieces. One of them covers a whole piece.
    std::string const long_words = std::string(piece - 1, 'x') + ' ' + std::string(piece, 'y') + ' ' +
                                   std::string(2 * piece + 5, 'z') + " z";
    for (std::string const& text :
         {std::string(), std::string("\n"), std::string("a"), std::string("a,a B1b\nb"),
          std::string(" @[`{\xe4\xc4 ", 9), prose, long_words}) {
        std::string const path = write("text", text);
        auto const expected = showcase_test::shell(
            "tr -cs A-Za-z '\\n' < " + showcase_test::quoted(path) +
            " | sed '/^$/d' | LC_ALL=C sort | uniq -c | sed 's/^ *//' | sha256sum | cut -c 1-64");
        ASSERT_EQ(expected.code, 0);
        showcase::outcome const done = run("wordcount", path);
        EXPECT_EQ(done.result + '\n', expected.text) << "a text of " << text.size() << " bytes";
        EXPECT_EQ(done.bytes, text.size());
    }
}

TEST_P(programs, wrong_names_are_reported) {
    EXPECT_THROW(run("uts", "T9"), std::invalid_argument);
    EXPECT_THROW(run("nothing", "T1"), std::invalid_argument);
    EXPECT_THROW(run("sortlines", at("missing")), std::system_error);
    EXPECT_THROW(run("wordcount", at("missing")), std::system_error);
}

INSTANTIATE_TEST_SUITE_P(serial, programs, ::testing::Values(runtime_and_workers{"serial", 1}), name_of);
INSTANTIATE_TEST_SUITE_P(pilfer, programs,
                         ::testing::Combine(::testing::Values("pilfer"), ::testing::Values(1U, 2U, 5U)),
                         name_of);
INSTANTIATE_TEST_SUITE_P(rivals, programs,
                         ::testing::Combine(::testing::Values("tbb", "openmp", "std"), ::testing::Values(2U)),
                         name_of);

TEST(programs_by_name, an_unknown_runtime_is_reported) {
    showcase::job what;
    what.program = "uts";
    what.input = "T1";
    what.runtime = "magic";
    EXPECT_THROW(showcase::run_job(what), std::invalid_argument);
}

} // namespace
