// Bytes between ranks: values, messages, and everything that is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <pilfer/cluster.hpp>

#include "cluster/tasks.hpp"
#include "cluster/wire.hpp"

namespace {

using pilfer::cluster::archive;
using pilfer::cluster::archive_error;
using namespace pilfer::detail;

struct point {
    int x;
    double y;
    bool operator==(const point&) const = default;
};
struct book {
    std::string title;
    std::vector<point> marks;
    std::vector<std::string> words;
    std::tuple<int, std::string> last;
    bool operator==(const book&) const = default;
};
void serialize(archive& a, book& b) { a(b.title, b.marks, b.words, b.last); }

const book example{"a title", {{1, 2.5}, {3, -1}}, {"", "word"}, {4, "end"}};

template <class T>
T there_and_back(const T& value) {
    archive out;
    out.put(value);
    archive in(out.bytes());
    T back = in.take<T>();
    in.end();
    return back;
}

TEST(archive, values_come_back) {
    EXPECT_EQ(there_and_back(point{7, 0.5}), (point{7, 0.5}));
    EXPECT_EQ(there_and_back(example), example);
    EXPECT_EQ(there_and_back(std::string("a\0b", 3)), std::string("a\0b", 3));
    EXPECT_EQ(there_and_back(std::vector<book>{example, example}).size(), 2u);
    EXPECT_EQ(there_and_back(std::pair{1, std::string("x")}), (std::pair{1, std::string("x")}));
    EXPECT_EQ(there_and_back(std::vector<int>{}), std::vector<int>{});
}

TEST(archive, type_without_default_constructor_may_be_trivially_copyable) {
    struct strict {
        explicit strict(int n) : value(n) {}
        int value;
    };
    EXPECT_EQ(there_and_back(strict(9)).value, 9);
}

TEST(archive, every_shortened_value_is_refused) {
    archive out;
    out.put(example);
    const std::vector<std::byte> whole = out.bytes();
    for (std::size_t n = 0; n < whole.size(); ++n) {
        archive in(std::span<const std::byte>(whole).first(n));
        EXPECT_THROW((void)in.take<book>(), archive_error) << n << " bytes";
    }
}

TEST(archive, lengths_are_checked_before_memory_is_asked_for) {
    archive out;
    out.put(std::numeric_limits<std::uint64_t>::max());
    const auto bytes = out.bytes();
    const auto refuses = [&]<class T>(T*) {
        archive in(bytes);
        EXPECT_THROW((void)in.take<T>(), archive_error);
    };
    refuses(static_cast<std::string*>(nullptr));
    refuses(static_cast<std::vector<char>*>(nullptr));
    refuses(static_cast<std::vector<double>*>(nullptr));
    refuses(static_cast<std::vector<std::string>*>(nullptr));
}

TEST(archive, bytes_left_over_are_noticed) {
    archive out;
    out.put(1);
    out.put('x');
    archive in(out.bytes());
    EXPECT_EQ(in.take<int>(), 1);
    EXPECT_THROW(in.end(), archive_error);
}

struct nothing_written {
    std::string kept;
};
void serialize(archive&, nothing_written&) {}

TEST(archive, elements_that_write_nothing_are_refused) {
    archive out;
    EXPECT_THROW(out.put(std::vector<nothing_written>(1)), archive_error);
}

message full() {
    message m;
    m.kind = message_kind::give;
    m.flag = 1;
    m.parcels = {{.origin = 1, .task = 2, .ticket = 3, .description = std::vector<std::byte>(5)},
                 {.origin = 0}};
    return m;
}
constexpr wire_limits limits{.ranks = 2, .tasks = 3};

TEST(wire, messages_come_back) {
    EXPECT_EQ(decode(encode(full()), limits), full());
    const message done{.kind = message_kind::done,
                       .task = 2,
                       .results = {{.rank = 1, .failed = 1, .bytes = std::vector<std::byte>(9)}}};
    EXPECT_EQ(decode(encode(done), limits), done);
    const message ask{.kind = message_kind::ask, .flag = 1};
    EXPECT_EQ(decode(encode(ask), limits), ask);
}

TEST(wire, every_shortened_or_longer_message_is_refused) {
    std::vector<std::byte> whole = encode(full());
    for (std::size_t n = 0; n < whole.size(); ++n) {
        EXPECT_THROW((void)decode(std::span(whole).first(n), limits), archive_error) << n << " bytes";
    }
    whole.push_back(std::byte{0});
    EXPECT_THROW((void)decode(whole, limits), archive_error);
}

TEST(wire, every_changed_byte_is_refused_or_read_as_what_it_says) {
    const std::vector<std::byte> whole = encode(full());
    for (std::size_t n = 0; n < whole.size(); ++n) {
        for (const int bit : {0, 3, 7}) {
            std::vector<std::byte> changed = whole;
            changed[n] ^= std::byte(1 << bit);
            try {
                EXPECT_EQ(encode(decode(changed, limits)), changed);
            } catch (const archive_error&) {
            }
        }
    }
}

TEST(wire, wrong_content_is_named) {
    const auto what = [](const message& m, const wire_limits& l) -> std::string {
        try {
            (void)decode(encode(m), l);
        } catch (const archive_error& e) {
            return e.what();
        }
        return "";
    };
    EXPECT_EQ(what(full(), limits), "");
    EXPECT_EQ(what(full(), {.ranks = 1, .tasks = 3}), "a rank that does not exist");
    EXPECT_EQ(what(full(), {.ranks = 2, .tasks = 2}), "a task that this program does not have");
    message m = full();
    m.kind = message_kind::beat;
    EXPECT_EQ(what(m, limits), "tasks in a message that has none");
    m = {.kind = message_kind::ask, .results = {{}}};
    EXPECT_EQ(what(m, limits), "results in a message that has none");
    m = {.kind = message_kind::done};
    EXPECT_EQ(what(m, limits), "an end without one result");
    m = {.kind = message_kind::ask, .flag = 2};
    EXPECT_EQ(what(m, limits), "a flag that is neither 0 nor 1");
    m = {.kind = message_kind::bounds, .results = {{.ticket = 1, .bytes = std::vector<std::byte>(8)}}};
    EXPECT_EQ(what(m, {.ranks = 1, .tasks = 1, .bounds = 2}), "");
    EXPECT_EQ(what(m, {.ranks = 1, .tasks = 1, .bounds = 1}), "a bound that this program does not have");
    m.results[0].bytes.pop_back();
    EXPECT_EQ(what(m, {.ranks = 1, .tasks = 1, .bounds = 2}), "a bound that is no value");
    m = {.kind = message_kind::parts, .results = {{.ticket = 99, .bytes = std::vector<std::byte>(3)}}};
    EXPECT_EQ(what(m, limits), "");
    m = {.kind = message_kind::drop, .results = {{.ticket = 99}}};
    EXPECT_EQ(what(m, limits), "");
    m.results[0].failed = 1;
    EXPECT_EQ(what(m, limits), "a result that is dropped");
    m = {.kind = message_kind::drop, .results = {{.ticket = 99, .bytes = std::vector<std::byte>(1)}}};
    EXPECT_EQ(what(m, limits), "a result that is dropped");
    m = {.kind = message_kind::results, .results = {{.failed = 2}}};
    EXPECT_EQ(what(m, limits), "a result that neither failed nor succeeded");
    auto bytes = encode(full());
    bytes[0] ^= std::byte{1};
    EXPECT_THROW((void)decode(bytes, limits), archive_error);
    bytes = encode(full());
    bytes[4] ^= std::byte{1};
    try {
        (void)decode(bytes, limits);
        ADD_FAILURE() << "accepted";
    } catch (const archive_error& e) {
        EXPECT_STREQ(e.what(), "a message of another version");
    }
}

TEST(programs, differences_are_named) {
    program_facts here;
    here.tasks = {{"queens", "6queens", 20, 8}, {"fib", "3fib", 4, 8}};
    program_facts there = here;
    EXPECT_EQ(difference(here, there), "");
    there.tasks[0].bytes = 24;
    EXPECT_EQ(difference(here, there),
              "a task queens of 24 bytes with a result of 8 bytes instead of 20 and 8");
    there = here;
    there.tasks.pop_back();
    EXPECT_EQ(difference(here, there), "no task fib");
    EXPECT_EQ(difference(there, here), "one more task, fib");
    there = here;
    there.wire = 99;
    EXPECT_THAT(difference(here, there), testing::StartsWith("version 99 of pilfer's messages"));
    there = here;
    there.bounds = {{"a bound", 5}};
    EXPECT_EQ(difference(here, there), "1 bounds instead of 0, or bounds of other types or worst values");
    here.bounds = {{"a bound", 6}};
    EXPECT_EQ(difference(here, there), "1 bounds instead of 1, or bounds of other types or worst values");
    here.bounds.clear();
    there = here;
    there.tasks[0].name = "other";
    EXPECT_EQ(difference(here, there), "other tasks of the same names");
    EXPECT_EQ(there_and_back(here), here);
}

TEST(programs, another_build_is_named) {
    program_facts here;
    here.tasks = {{"queens", "6queens", 20, 8}, {"fib", "3fib", 4, 8, "aa"}};
    here.build = "11";
    program_facts there = here;
    EXPECT_EQ(difference(here, there), "");
    there.build = "22";
    EXPECT_THAT(difference(here, there),
                testing::StartsWith("another build of the program, 22 instead of 11 "));
    there = here;
    there.tasks[1].build = "bb";
    EXPECT_THAT(difference(here, there),
                testing::StartsWith("another build of the library with the task fib, bb instead of aa "));
    EXPECT_EQ(there_and_back(there), there);
    there.build.clear(); // it works with any build
    EXPECT_EQ(difference(here, there), "");
    EXPECT_EQ(difference(there, here), "");
    there.tasks.pop_back();
    EXPECT_EQ(difference(here, there), "no task fib");
}

/// The rest of such a message may have any form.
TEST(programs, of_another_version_are_named) {
    archive out;
    out.put(std::uint32_t{wire_version + 1});
    const std::string refusal =
        "version " + std::to_string(wire_version + 1) + " of pilfer's messages instead of ";
    for (const std::string_view rest : {"", "\xff\xff\xff\xff\xff\xff\xff\xff and so on"}) {
        for (const char c : rest) {
            out.put(c);
        }
        archive in(out.bytes());
        EXPECT_THAT(difference({}, in.take<program_facts>()), testing::StartsWith(refusal));
        EXPECT_THAT(difference({}, read_hello(out.bytes()).facts), testing::StartsWith(refusal));
    }
    archive same;
    same.put(hello{{}, "host"});
    EXPECT_EQ(read_hello(same.bytes()).who, "host");
    same.put('x');
    EXPECT_THROW((void)read_hello(same.bytes()), archive_error);
}

} // namespace
