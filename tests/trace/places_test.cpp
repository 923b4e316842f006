// Places: the innermost function of the user on a stack, by the unwinder the first time and by distances
// later. Optimised in every build: a frame of the library must not be inlined into the user's only where it
// should not.
#include <alloca.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>

#include "support/harness.hpp"
#include "trace/places.hpp"

// Functions that count as the library's, by their names.
namespace pilfer::looks_like_the_library {

using pilfer::v0::trace::places;

[[gnu::noinline]] places::number ask(places& p, std::uintptr_t end, places::number under) {
    const places::number n = p.at(PILFER_CALLER, end, under);
    asm volatile("" ::: "memory"); // no tail call
    return n;
}
[[gnu::noinline]] places::number deeper(places& p, std::uintptr_t end, int depth) {
    const places::number n = depth == 0 ? ask(p, end, 0) : deeper(p, end, depth - 1);
    asm volatile("" ::: "memory");
    return n;
}
/// Two functions with frames of one size.
[[gnu::noinline]] places::number by_one_way(places& p, std::uintptr_t end) {
    const places::number n = deeper(p, end, 0);
    asm volatile("nop" ::: "memory");
    return n;
}
[[gnu::noinline]] places::number by_another_way(places& p, std::uintptr_t end) {
    const places::number n = deeper(p, end, 0);
    asm volatile("" ::: "memory");
    return n;
}
/// Its frame has another size each time, so the distance to the next frame is not always the same.
[[gnu::noinline]] places::number with_room(places& p, std::uintptr_t end, std::size_t bytes) {
    volatile char* const room = static_cast<char*>(alloca(bytes));
    room[0] = 1;
    const places::number n = ask(p, end, 0);
    room[bytes - 1] = 1;
    return n;
}

} // namespace pilfer::looks_like_the_library

namespace {

using namespace support;
namespace library = pilfer::looks_like_the_library;
using pilfer::v0::trace::places;

/// Far enough for the frames between a test and what it calls.
[[nodiscard, gnu::noinline]] std::uintptr_t end_of_stack() {
    return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 256;
}

class places_of_stacks : public guarded {};

TEST_F(places_of_stacks, a_line_is_one_place_and_two_lines_are_two) {
    places p;
    std::set<places::number> first, second;
    for (int i = 0; i < 5; ++i) {
        first.insert(library::ask(p, end_of_stack(), 0));
        second.insert(library::ask(p, end_of_stack(), 0));
    }
    EXPECT_EQ(first.size(), 1U);
    EXPECT_EQ(second.size(), 1U);
    EXPECT_NE(*first.begin(), *second.begin());
    EXPECT_FALSE(first.contains(0));
    EXPECT_EQ(library::ask(p, 0, 0) != 0, true) << "a stack whose end is not known is unwound";
}

TEST_F(places_of_stacks, frames_of_the_library_are_passed) {
    places p;
    std::set<places::number> all;
    for (int depth = 0; depth < 6; ++depth) {
        const places::number once = library::deeper(p, end_of_stack(), depth);
        EXPECT_EQ(library::deeper(p, end_of_stack(), 0) != 0, true);
        all.insert(once);
    }
    EXPECT_EQ(all.size(), 6U) << "a place for each stack";
    pilfer::v0::os::source_lines lines;
    const auto sources = p.known().sources(lines);
    for (const places::number n : all) {
        // With or without debug information, the function is this test.
        EXPECT_NE(sources.at(n).function.find("places_of_stacks"), std::string::npos)
            << sources.at(n).function;
    }
}

TEST_F(places_of_stacks, stacks_that_differ_in_the_middle_alone_are_not_mixed_up) {
    places p;
    std::set<places::number> one, another;
    places::number (*volatile way)(places&, std::uintptr_t) = nullptr;
    for (const bool first : {true, true, true, false, false, true, false, true}) {
        way = first ? &library::by_one_way : &library::by_another_way;
        (first ? one : another).insert(way(p, end_of_stack()));
    }
    EXPECT_EQ(one.size(), 1U);
    EXPECT_EQ(another.size(), 1U);
    EXPECT_NE(*one.begin(), *another.begin());
    EXPECT_FALSE(one.contains(0) || another.contains(0));
}

TEST_F(places_of_stacks, a_frame_of_variable_size_does_not_lead_astray) {
    places p;
    const auto here = [&p](std::size_t bytes) { return library::with_room(p, end_of_stack() + 4096, bytes); };
    std::set<places::number> found;
    for (const std::size_t bytes : {16U, 512U, 16U, 2048U, 64U, 512U, 16U}) {
        found.insert(here(bytes));
    }
    EXPECT_EQ(found.size(), 1U);
    EXPECT_FALSE(found.contains(0));
}

TEST_F(places_of_stacks, what_the_library_starts_has_the_place_of_the_task_that_called_it) {
    places p;
    const places::number mine = library::ask(p, end_of_stack(), 0);
    EXPECT_EQ(p.at(nullptr, mine) != 0, true);
    // A return address inside of the library, at which its own recursion comes again and again.
    const void* const inside =
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(&library::ask) + 4);
    const places::number once = p.at(inside, mine);
    EXPECT_NE(once, mine);
    EXPECT_EQ(p.at(inside, once), once) << "no new place for each level";
    pilfer::v0::os::source_lines lines;
    const auto sources = p.known().sources(lines);
    EXPECT_EQ(sources.at(once).function, sources.at(mine).function);
}

TEST_F(places_of_stacks, names_of_the_library_are_known) {
    using pilfer::v0::trace::is_of_library;
    EXPECT_TRUE(is_of_library("void pilfer::scope::sync()"));
    EXPECT_TRUE(is_of_library("decltype(auto) pilfer::join<f>(f&&)"));
    EXPECT_TRUE(is_of_library(
        "decltype (((declval<void (* const&)()>)())()) pilfer::pool::run<void (*)()>(void (*)())"));
    EXPECT_TRUE(is_of_library("std::vector<mine>::push_back(mine&&)"));
    EXPECT_TRUE(is_of_library("_ZN6pilfer2v06detail4joinILm1EZN4mineEvE"));
    EXPECT_TRUE(is_of_library("_ZZN6pilfer2v06detail7in_loopIZ4minevEUlvE_EEvT_ENKUlvE_clEv"));
    EXPECT_TRUE(is_of_library("_ZNKSt6vectorI4mineE4sizeEv"));
    EXPECT_TRUE(is_of_library("tbb::detail::d1::task_group::wait()"));
    EXPECT_TRUE(is_of_library("_ZN3tbb6detail2d114task_group4waitEv"));
    EXPECT_FALSE(is_of_library("_ZN4mine3runERN6pilfer2v05mutexE"));
    EXPECT_FALSE(is_of_library("f(pilfer::mutex&)"));
    EXPECT_FALSE(is_of_library("main"));
    EXPECT_FALSE(is_of_library("decltype(f()) mine::g<int>()"));
    EXPECT_FALSE(is_of_library("decltype"));
    EXPECT_FALSE(is_of_library(""));
}

TEST_F(places_of_stacks, what_is_not_of_utf8_is_replaced_in_json) {
    using pilfer::v0::trace::quoted;
    EXPECT_EQ(quoted("a\"b\\c\x1f\x7f"), "\"a\\\"b\\\\c\\u001f\x7f\"");
    for (const std::string right :
         {"\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"}) {
        EXPECT_EQ(quoted(right + "x"), std::string("\"").append(right).append("x\""));
    }
    EXPECT_EQ(quoted("caf\xe9"), "\"caf\\ufffd\"");
    EXPECT_EQ(quoted("\xc3"), "\"\\ufffd\"") << "cut at the end";
    EXPECT_EQ(quoted("\xe2\x82\"\xa9"), "\"\\ufffd\\ufffd\\\"\\ufffd\"") << "cut before a quotation mark";
    EXPECT_EQ(quoted("\xc0\xaf"), "\"\\ufffd\\ufffd\"") << "a longer form than necessary";
    EXPECT_EQ(quoted("\xe0\x80\xaf"), "\"\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(quoted("\xf0\x80\x80\xaf"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"") << "a surrogate";
    EXPECT_EQ(quoted("\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"") << "beyond U+10FFFF";
    EXPECT_EQ(quoted("\xff"), "\"\\ufffd\"");
}

} // namespace
