// A recording without memory or room for its text: the program goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <string>
#include <system_error>

#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

#include "platform/mapped_text.hpp"

namespace {

thread_local bool refuses = false;

void* memory(std::size_t bytes) {
    void* const p = refuses ? nullptr : std::malloc(bytes);
    if (p == nullptr) {
        throw std::bad_alloc();
    }
    return p;
}

} // namespace

void* operator new(std::size_t bytes) { return memory(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return refuses ? nullptr : std::malloc(bytes);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace {

using ::testing::HasSubstr;

[[nodiscard]] std::string name_of(const char* what) {
    return testing::TempDir() + "pilfer_" + what + '_' + std::to_string(::getpid());
}

[[nodiscard]] std::string text_in(const std::string& name) {
    std::ifstream in(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

TEST(recording, without_memory_ends_and_says_so) {
    bool went_on = false;
    const auto body = [&] {
        pilfer::mutex m;
        m.lock();
        refuses = true;
        m.unlock(); // a new operation
        refuses = false;
        pilfer::counting_semaphore<> s(1);
        s.acquire();
        went_on = true;
    };
    const auto r = pilfer::test::record({.workers = 1}, body);
    EXPECT_TRUE(r) << r.message;
    EXPECT_TRUE(went_on);
    EXPECT_THAT(r.schedule, HasSubstr("\nn no memory for the rest of it\ne\n"));
    const auto again = pilfer::test::schedules(1, {.replay = r.schedule}, body);
    EXPECT_FALSE(again.fits);
    EXPECT_THAT(again.message, HasSubstr("It contains: no memory for the rest of it"));
}

TEST(recording, without_memory_still_fails) {
    const auto r = pilfer::test::record({.workers = 1}, [] {
        pilfer::mutex m;
        m.lock();
        refuses = true;
        m.unlock();
        refuses = false;
        pilfer::test::require(false, "this");
    });
    EXPECT_FALSE(r);
    EXPECT_THAT(r.message, HasSubstr("this"));
}

/// While it lives, a file cannot be longer than this.
class limit_of_files {
public:
    explicit limit_of_files(rlim_t bytes) {
        (void)::getrlimit(RLIMIT_FSIZE, &m_before);
        (void)std::signal(SIGXFSZ, SIG_IGN);
        const rlimit now{bytes, m_before.rlim_max};
        (void)::setrlimit(RLIMIT_FSIZE, &now);
    }
    limit_of_files(const limit_of_files&) = delete;
    limit_of_files& operator=(const limit_of_files&) = delete;
    ~limit_of_files() {
        (void)::setrlimit(RLIMIT_FSIZE, &m_before);
        (void)std::signal(SIGXFSZ, SIG_DFL);
    }

private:
    rlimit m_before{};
};

TEST(recording, without_room_in_its_file_ends_and_says_so) {
    const std::string name = name_of("full_file");
    const limit_of_files here(rlim_t{300} << 10);
    const auto r = pilfer::test::record({.workers = 1, .file = name}, [] {
        pilfer::mutex m;
        for (int i = 0; i < 100'000; ++i) {
            m.lock();
            m.unlock();
        }
    });
    EXPECT_TRUE(r) << r.message;
    const std::string text = text_in(name);
    EXPECT_TRUE(text == r.schedule);
    EXPECT_TRUE(text.ends_with("\nn no room in its file for the rest of it\ne\n")) << text.size();
    (void)std::remove(name.c_str());
}

TEST(text, has_room_for_its_last_line) {
    pilfer::v0::os::mapped_text t("", 1'024);
    const std::string line(63, 'x');
    unsigned lines = 0;
    while (t.append(line + '\n')) {
        ++lines;
    }
    EXPECT_EQ(lines, (1'024 - t.reserved) / 64);
    EXPECT_TRUE(t.is_full(64));
    t.append_last("the end\n");
    EXPECT_THAT(std::string(t.text()), testing::EndsWith("x\nthe end\n"));
    t.append_last(std::string(2'000, 'y'));
    EXPECT_LE(t.text().size(), 1'024U);
}

TEST(text, without_room_for_anything_is_an_error) {
    const limit_of_files here(0);
    EXPECT_THROW(pilfer::v0::os::mapped_text(name_of("no_file"), 1'024), std::system_error);
    (void)std::remove(name_of("no_file").c_str());
}

} // namespace
