// Lines of a trace: programs that know none, and names of files that a shell would misread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "platform/source_lines.hpp"
#include "search/user_frames.hpp"

namespace {

namespace fs = std::filesystem;
using pilfer::os::source_lines;

/// The folder is searched for commands before all others, or instead of them.
class commands : public testing::Test {
protected:
    void SetUp() override {
        m_path = std::getenv("PATH");
        std::string name = testing::TempDir() + "pilfer_commands_XXXXXX";
        ASSERT_NE(::mkdtemp(name.data()), nullptr);
        folder = name;
    }
    void TearDown() override {
        setenv("PATH", m_path.c_str(), 1);
        fs::remove_all(folder);
    }
    void only_folder() const { setenv("PATH", folder.c_str(), 1); }
    void command(const char* name, const std::string& script) const {
        const fs::path file = folder / name;
        std::ofstream(file) << "#!/bin/sh\n" << script << "\n";
        chmod(file.c_str(), 0755);
    }
    fs::path folder;

private:
    std::string m_path;
};

/// A return address in this function.
[[gnu::noinline]] const void* here() {
    const void* frames[4];
    const unsigned n = pilfer::os::return_addresses(frames, 4);
    return n > 1 ? frames[1] : nullptr;
}

TEST_F(commands, that_are_missing_give_no_line) {
    only_folder();
    source_lines lines;
    const void* const at = here();
    lines.learn({at});
    EXPECT_TRUE(lines.at(at).empty());
}

TEST_F(commands, that_never_end_are_ended) {
    for (const char* const name : {"llvm-addr2line", "llvm-addr2line-19", "addr2line"}) {
        command(name, "exec /bin/sleep 1000");
    }
    only_folder();
    source_lines lines(50'000'000);
    const void* const at = here();
    lines.learn({at}); // a second and more would do, but not 1000
    EXPECT_TRUE(lines.at(at).empty());
}

TEST_F(commands, that_write_nonsense_give_no_line) {
    for (const char* const text : {"", "\\n\\n\\n", "f\\nx.cpp:12\\n", "0x12\\n", "0xzz\\nf\\n",
                                   "0x1\\nf\\nx.cpp\\n", "0x1\\nf\\n:\\n"}) {
        command("llvm-addr2line", "printf '" + std::string(text) + "'");
        only_folder();
        source_lines lines;
        const void* const at = here();
        lines.learn({at});
        EXPECT_TRUE(lines.at(at).empty()) << text;
    }
}

TEST_F(commands, get_the_file_as_one_word) {
    command("llvm-addr2line", "for w; do echo \"$w\"; done > \"${0%/*}/words\"");
    only_folder();
    source_lines lines;
    const void* const at = here();
    lines.learn({at});
    std::ifstream in(folder / "words");
    std::vector<std::string> words;
    for (std::string line; std::getline(in, line);) {
        words.push_back(line);
    }
    ASSERT_EQ(words.size(), 7U);
    EXPECT_EQ(words[4], "-e");
    EXPECT_THAT(words[5], testing::MatchesRegex("/proc/[0-9]+/exe"));
    EXPECT_THAT(words[6], testing::StartsWith("0x"));
}

TEST_F(commands, that_know_only_a_line_of_the_library_leave_the_function) {
    command("llvm-addr2line", "for w; do :; done; printf \"$w\\nthis\\n/x/include/pilfer/scope.hpp:7\\n\"");
    only_folder();
    const void* const at = here();
    pilfer::detail::learn_lines({at});
    const auto frames = pilfer::detail::user_frames(&at, 1, 1);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_THAT(frames[0].function, testing::HasSubstr("here()"));
    EXPECT_EQ(frames[0].place, "");
}

} // namespace
