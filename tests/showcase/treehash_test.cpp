#include "treehash.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "digest.hpp"
#include "executor_serial.hpp"
#include "models.hpp"
#include "sandbox.hpp"

namespace {

namespace fs = std::filesystem;
using showcase_test::read_file;

// The shell pipeline as the README has it, so that the README cannot be wrong.
std::string pipeline() {
    std::string const text = read_file(PILFER_SHOWCASE_README);
    std::size_t const begin = text.find("# treehash, in shell\n");
    std::size_t const end = text.find("```", begin);
    if (begin == std::string::npos || end == std::string::npos)
        throw std::runtime_error("no pipeline in the README");
    return text.substr(begin, end - begin);
}

class treehash : public showcase_test::sandbox, public ::testing::WithParamInterface<char const*> {
public:
    showcase::outcome run(std::string const& folder) const {
        showcase::job what;
        what.program = "treehash";
        what.runtime = GetParam();
        what.input = folder;
        what.workers = 3;
        what.stack_size = 8U << 20U;
        return showcase::run_job(what);
    }

    std::string by_shell(std::string const& folder) {
        std::string const script = write("pipeline.sh", pipeline());
        auto const said = showcase_test::shell("sh " + showcase_test::quoted(script) + ' ' +
                                               showcase_test::quoted(folder) + " 2>/dev/null");
        EXPECT_EQ(said.code, 0);
        EXPECT_EQ(said.text.size(), 65U);
        return said.text.substr(0, 64);
    }
};

TEST_P(treehash, equals_the_pipeline_on_a_folder_full_of_traps) {
    // Names around '/' in the order of bytes: a walk that sorts folders by their bare names fails here.
    for (char const* const name : {"a/x", "a.txt", "a-b", "a0", "a!/y", "ab/c/d", "ab/c0", "B", "z"})
        write(std::string("tree/") + name, name);
    for (char const* const name :
         {"new\nline", "back\\slash", "-", "-n", " space ", "\xff\xfe", "quote'\"", "\\"})
        write(std::string("tree/odd/") + name, name);
    write("tree/odd/folder\nwith\nlines/file", "1");
    write("tree/empty", "");
    write("tree/big", std::string(1'000'003, 'b')); // several blocks and a rest
    write("tree/block", std::string(64 * 1024, 'c'));
    std::string deep = "tree/deep";
    for (int i = 0; i < 200; ++i)
        deep += "/d";
    write(deep + "/end", "end");
    for (int i = 0; i < 300; ++i)
        write("tree/many/" + std::to_string(i), std::to_string(i));
    fs::create_directory(at("tree/nothing_inside"));
    fs::create_symlink("a.txt", at("tree/link"));
    fs::create_symlink("nowhere", at("tree/dangling"));
    fs::create_directory_symlink("..", at("tree/loop"));
    ASSERT_EQ(::mkfifo(at("tree/pipe").c_str(), 0644), 0);

    showcase::outcome const done = run(at("tree"));
    EXPECT_EQ(done.result, by_shell(at("tree")));
    EXPECT_EQ(done.items, 9U + 8U + 1U + 3U + 1U + 300U);
    EXPECT_EQ(done.problems, 0U);
    EXPECT_GT(done.bytes, 1'000'003U + 65'536U);
}

TEST_P(treehash, sees_every_change) {
    write("tree/a", "1");
    write("tree/b", "2");
    std::string const before = run(at("tree")).result;
    write("tree/b", "3");
    std::string const other_text = run(at("tree")).result;
    EXPECT_NE(before, other_text);
    fs::rename(at("tree/b"), at("tree/c"));
    EXPECT_NE(run(at("tree")).result, other_text);
}

TEST_P(treehash, an_empty_folder_has_the_digest_of_nothing) {
    fs::create_directory(at("tree"));
    showcase::outcome const done = run(at("tree"));
    EXPECT_EQ(done.items, 0U);
    EXPECT_EQ(done.result, showcase::sha256().hex());
    EXPECT_EQ(done.result, by_shell(at("tree")));
}

TEST_P(treehash, follows_a_link_only_at_the_start_of_the_walk) {
    write("tree/a", "1");
    fs::create_directory_symlink(at("tree"), at("link"));
    EXPECT_EQ(run(at("link")).result, run(at("tree")).result);
}

INSTANTIATE_TEST_SUITE_P(runtimes, treehash, ::testing::Values("serial", "pilfer", "tbb", "openmp"),
                         [](auto const& instance) { return std::string(instance.param); });

using unreadable = showcase_test::sandbox;

// Root may read everything, so another user does the walk.
[[noreturn]] void walk_as_nobody(std::string const& folder, std::string const& forbidden_file,
                                 std::string const& forbidden_folder) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0 && (::setgid(nobody) != 0 || ::setuid(nobody) != 0))
        ::_exit(10);
    showcase::serial_executor serial({});
    showcase::outcome const done = showcase::treehash(serial, folder);
    bool const counted = done.problems == 2 && done.listed.size() == 2 && done.items == 1;
    if (!counted)
        ::_exit(11);
    for (auto const& p : done.listed) {
        if (p.path != forbidden_file && p.path != forbidden_folder)
            ::_exit(12);
        if (p.reason != "Permission denied")
            ::_exit(13);
    }
    ::_exit(0);
}

TEST_F(unreadable, files_and_folders_are_listed_and_counted) {
    write("tree/good", "1");
    fs::permissions(write("tree/secret", "2"), fs::perms::none);
    write("tree/closed/inside", "3");
    fs::permissions(at("tree/closed"), fs::perms::none);
    EXPECT_EXIT(walk_as_nobody(at("tree"), "./secret", "./closed"), ::testing::ExitedWithCode(0), "");
    fs::permissions(at("tree/closed"), fs::perms::owner_all);
}

TEST_F(unreadable, vanished_and_changed_files_have_an_error) {
    write("target", "1");
    fs::create_symlink("target", at("link"));
    fs::create_directory(at("folder"));
    ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0644), 0);
    auto const error_of = [this](char const* name) {
        showcase::tree_node node;
        showcase::hash_file(node, at(name));
        EXPECT_TRUE(node.hex.empty());
        return node.error;
    };
    EXPECT_EQ(error_of("missing"), ENOENT);
    EXPECT_EQ(error_of("link"), ELOOP);
    EXPECT_EQ(error_of("pipe"), EINVAL); // and it does not wait for a writer
    EXPECT_EQ(error_of("folder"), EINVAL);

    showcase::tree_node node;
    showcase::list_folder(node, at("target"), false);
    EXPECT_EQ(node.error, ENOTDIR);
}

TEST_F(unreadable, a_long_list_is_cut_but_counted) {
    showcase::tree_node root;
    root.directory = true;
    for (int i = 0; i < 250; ++i) {
        auto& child = root.children.emplace_back();
        child.name = std::to_string(i);
        child.error = EIO;
    }
    showcase::outcome const done = showcase::summarise(root);
    EXPECT_EQ(done.problems, 250U);
    EXPECT_EQ(done.listed.size(), showcase::problems_listed);
    EXPECT_EQ(done.listed.front().path, "./0");
    EXPECT_EQ(done.items, 0U);
}

} // namespace
