// The file of a journal: what is torn, damaged, foreign, or cannot be written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <pilfer/cluster.hpp>

#include "cluster/journal_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using pilfer::cluster::archive;
using namespace pilfer::detail;
using namespace journal_files;

const journal_facts facts{"a type", 0, 10, 2};

std::vector<std::byte> value(const std::string& text) {
    archive out;
    out.put(text);
    return out.bytes();
}
void check_text(archive& in) { (void)in.take<std::string>(); }

std::vector<saved_part> open_again(const std::string& path, const journal_facts& f = facts) {
    journal j(true, f.parts());
    return j.open(path, f, check_text);
}
std::string error_of(const std::string& path, const journal_facts& f = facts) {
    try {
        (void)open_again(path, f);
    } catch (const std::runtime_error& e) {
        return e.what();
    }
    return "";
}

const std::vector<saved_part> three{{0, value("zero")}, {3, value("")}, {4, value("four")}};

/// A file with three parts, out of their order.
void write_three(const std::string& path) {
    journal j(true, facts.parts());
    EXPECT_TRUE(j.open(path, facts, check_text).empty());
    for (const std::size_t i : {2u, 0u, 1u}) {
        j.keep(saved_part(three[i]));
    }
}

TEST(journal_file, parts_come_back_in_their_order) {
    const temporary_file file;
    write_three(file.path);
    EXPECT_EQ(open_again(file.path), three);
    {
        journal j(true, facts.parts());
        EXPECT_EQ(j.open(file.path, facts, check_text), three);
        j.keep({1, value("one")});
    }
    EXPECT_EQ(open_again(file.path).size(), 4u);
}

TEST(journal_file, part_that_comes_twice_is_kept_once) { // a task of an elastic run may run twice
    const temporary_file file;
    write_three(file.path);
    {
        journal j(true, facts.parts());
        (void)j.open(file.path, facts, check_text);
        j.keep(saved_part(three[1])); // is in the file
        j.keep({1, value("one")});
        j.keep({1, value("one")});
        j.keep({2, value("two")});
    }
    EXPECT_EQ(open_again(file.path).size(), 5u);
}

TEST(journal_file, torn_at_any_byte_keeps_the_whole_records) {
    const temporary_file file;
    write_three(file.path);
    const std::string whole = read(file.path);
    std::size_t parts_before = 0;
    for (std::size_t n = 0; n <= whole.size(); ++n) {
        write(file.path, whole.substr(0, n));
        {
            journal j(true, facts.parts());
            const auto parts = j.open(file.path, facts, check_text);
            ASSERT_GE(parts.size(), parts_before) << n;
            parts_before = parts.size();
            j.keep({1, value("one")}); // not behind half of a record
        }
        ASSERT_EQ(open_again(file.path).size(), parts_before + 1) << n;
    }
    EXPECT_EQ(parts_before, 3u);
}

TEST(journal_file, changed_byte_is_an_error_or_cuts_the_file) {
    const temporary_file file;
    write_three(file.path);
    const std::string whole = read(file.path);
    std::size_t refused = 0;
    std::size_t cut = 0;
    for (std::size_t n = 0; n < whole.size(); ++n) {
        for (const int bit : {0, 3, 7}) {
            std::string changed = whole;
            changed[n] = static_cast<char>(changed[n] ^ (1 << bit));
            write(file.path, changed);
            try {
                const auto parts = open_again(file.path);
                ASSERT_LT(parts.size(), 3u) << n;
                for (const saved_part& p : parts) {
                    ASSERT_NE(std::ranges::find(three, p), three.end()) << n;
                }
                ++cut;
            } catch (const std::runtime_error&) {
                EXPECT_EQ(read(file.path), changed) << "a file that is refused stays as it is";
                ++refused;
            }
        }
    }
    EXPECT_GT(refused, 0u);
    EXPECT_GT(cut, 0u);
}

TEST(journal_file, of_another_call_is_refused_and_stays) {
    const temporary_file file;
    write_three(file.path);
    const std::string whole = read(file.path);
    EXPECT_THAT(error_of(file.path, {"a type", 0, 12, 2}),
                testing::HasSubstr("it has 10 elements from 0 on instead of 12 elements from 0 on"));
    EXPECT_THAT(error_of(file.path, {"a type", static_cast<std::uint64_t>(-3), 10, 2}),
                testing::HasSubstr("instead of 10 elements from -3 on"));
    EXPECT_THAT(error_of(file.path, {"b type", 0, 10, 2}), testing::HasSubstr("have other types"));
    EXPECT_THAT(error_of(file.path, {"a type", 0, 10, 5}), testing::HasSubstr("belongs to another call"));
    EXPECT_EQ(read(file.path), whole);
    EXPECT_EQ(open_again(file.path), three);
}

TEST(journal_file, that_is_none_is_refused_and_stays) {
    const temporary_file file;
    for (const std::string text : {"x", "a letter to somebody, which is longer than a head is. "
                                        "............................................"}) {
        write(file.path, text);
        EXPECT_THAT(error_of(file.path), testing::HasSubstr("is another file"));
        EXPECT_EQ(read(file.path), text);
    }
}

TEST(journal_file, that_cannot_be_used_is_named) {
    EXPECT_THAT(error_of("/nowhere/at/all"), testing::HasSubstr("/nowhere/at/all cannot be opened: No such"));
    EXPECT_THAT(error_of(std::filesystem::temp_directory_path().string()),
                testing::HasSubstr("cannot be opened: Is a directory"));
    EXPECT_THAT(error_of(""), testing::HasSubstr("cannot be opened"));
    EXPECT_THAT(error_of("/dev/null"), testing::HasSubstr("is no regular file"));
    const temporary_file pipe;
    ASSERT_EQ(mkfifo(pipe.path.c_str(), 0600), 0);
    EXPECT_THAT(error_of(pipe.path), testing::HasSubstr("is no regular file"))
        << "without a wait for a writer";
}

TEST(journal_file, of_a_link_is_the_file_behind_it) {
    const temporary_file file;
    const temporary_file link;
    std::filesystem::create_symlink(file.path, link.path);
    write_three(link.path);
    write(file.path, read(file.path) + "torn");
    EXPECT_EQ(open_again(link.path), three);
    EXPECT_TRUE(std::filesystem::is_symlink(link.path));
    EXPECT_EQ(open_again(file.path), three);
}

TEST(journal_file, that_another_job_uses_is_refused_and_stays) {
    const temporary_file file;
    write_three(file.path);
    write(file.path, read(file.path) + "half of a record"); // which another job is about to write
    const std::string whole = read(file.path);
    const int other = open(file.path.c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    {
        journal j(true, facts.parts());
        try {
            (void)j.open(file.path, facts, check_text, std::chrono::milliseconds(1));
            ADD_FAILURE() << "opened";
        } catch (const std::runtime_error& e) {
            EXPECT_THAT(e.what(), testing::HasSubstr(file.path + " is used by another job"));
        }
    }
    EXPECT_EQ(read(file.path), whole);
    std::atomic<bool> ended{false};
    std::jthread job([&] { // it dies a moment later
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        ended = true;
        close(other);
    });
    journal j(true, facts.parts());
    EXPECT_EQ(j.open(file.path, facts, check_text, std::chrono::minutes(1)), three);
    EXPECT_TRUE(ended);
}

TEST(journal_file, is_not_open_in_programs_that_a_task_starts) {
    const temporary_file file;
    journal j(true, facts.parts());
    (void)j.open(file.path, facts, check_text);
    const std::string command =
        "! readlink /proc/self/fd/* /proc/$$/fd/* 2>/dev/null | grep -qF " + file.path;
    EXPECT_EQ(std::system(command.c_str()), 0) << "a program that outlives the job would keep the lock";
}

TEST(journal_file, unreadable_value_is_refused) {
    const temporary_file file;
    {
        journal j(true, facts.parts());
        (void)j.open(file.path, facts, check_text);
        j.keep({0, std::vector<std::byte>(3)});
    }
    EXPECT_THAT(error_of(file.path), testing::HasSubstr("has a value that cannot be read: too few bytes"));
}

/// A file with these records, each as a file that has it alone.
std::string with_records(const std::string& path, const std::vector<saved_part>& records) {
    std::string all;
    std::size_t head = 0;
    for (const saved_part& p : records) {
        std::filesystem::remove(path);
        journal j(true, facts.parts() + 1);
        (void)j.open(path, facts, check_text);
        head = read(path).size();
        j.keep(saved_part(p));
        all += read(path).substr(all.empty() ? 0 : head);
    }
    return all;
}

TEST(journal_file, repeated_part_and_part_beyond_the_range_end_it) {
    const temporary_file file;
    for (const std::uint64_t part : {0u, 5u}) {
        write(file.path,
              with_records(file.path, {{0, value("zero")}, {part, value("bad")}, {1, value("one")}}));
        EXPECT_EQ(open_again(file.path), (std::vector<saved_part>{{0, value("zero")}}));
    }
}

/// No file of this process may become longer.
struct file_limit {
    explicit file_limit(rlim_t bytes) {
        getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit limit{bytes, m_before.rlim_max};
        m_handler = std::signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &limit);
    }
    file_limit(const file_limit&) = delete;
    file_limit& operator=(const file_limit&) = delete;
    ~file_limit() {
        setrlimit(RLIMIT_FSIZE, &m_before);
        (void)std::signal(SIGXFSZ, m_handler);
    }

private:
    rlimit m_before{};
    void (*m_handler)(int) = SIG_DFL;
};

TEST(journal_file, full_disk_stops_the_journal_and_not_the_run) {
    const temporary_file file;
    std::string said;
    {
        journal j(true, facts.parts());
        (void)j.open(file.path, facts, check_text);
        j.keep({0, value("zero")});
        testing::internal::CaptureStderr();
        {
            const file_limit limit(1000);
            j.keep({1, value(std::string(2000, 'x'))}); // the half of a record stays behind
            j.keep({2, value("two")});
        }
        j.keep({3, value("three")});
        said = testing::internal::GetCapturedStderr();
    }
    EXPECT_THAT(said, testing::HasSubstr("cannot be written: File too large. The run goes on"));
    EXPECT_EQ(said.find("cannot"), said.rfind("cannot")) << "said once";
    EXPECT_EQ(read(file.path).size(), 1000u);
    EXPECT_EQ(open_again(file.path), (std::vector<saved_part>{{0, value("zero")}}));
    EXPECT_LT(read(file.path).size(), 1000u);
}

TEST(journal_file, other_ranks_only_collect) {
    journal j(false, facts.parts());
    j.keep({4, value("four")});
    j.keep({2, value("two")});
    EXPECT_EQ(j.take_unsent(), (std::vector<saved_part>{{4, value("four")}, {2, value("two")}}));
    EXPECT_TRUE(j.take_unsent().empty());
}

} // namespace
