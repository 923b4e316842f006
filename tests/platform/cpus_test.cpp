// How many workers a process is granted: quotas of both cgroup versions from made-up file trees, and the
// environment variable with everything that may be wrong about it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>

#include "platform/cpus.hpp"
#include "platform/os.hpp"

namespace {

namespace fs = std::filesystem;
namespace os = pilfer::os;

/// A file tree that cgroup_cpus() takes for the machine's.
class Quota : public testing::Test {
protected:
    Quota() {
        std::string name = (fs::temp_directory_path() / "pilfer-cpus-XXXXXX").string();
        m_root = mkdtemp(name.data());
    }
    ~Quota() override { fs::remove_all(m_root); }
    void write(const std::string& path, const std::string& text) {
        const fs::path at = m_root.string() + path;
        fs::create_directories(at.parent_path());
        std::ofstream(at) << text;
    }
    void version_2(const std::string& own, const std::string& subtree = "/") {
        write("/proc/self/cgroup", "0::" + own + "\n");
        write("/proc/self/mountinfo",
              "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
              "30 24 0:26 " +
                  subtree + " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
    }
    void version_1(const std::string& own) {
        write("/proc/self/cgroup", "5:memory:/elsewhere\n4:cpu,cpuacct:" + own + "\n1:name=systemd:/\n");
        write("/proc/self/mountinfo",
              "31 24 0:27 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
              "32 24 0:28 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n"
              "33 24 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n");
    }
    void v1_quota(const std::string& group, const std::string& quota, const std::string& period) {
        write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_quota_us", quota + "\n");
        write("/sys/fs/cgroup/cpu,cpuacct" + group + "/cpu.cfs_period_us", period + "\n");
    }
    [[nodiscard]] std::optional<unsigned> granted() const { return os::cgroup_cpus(m_root.string()); }

private:
    fs::path m_root;
};

TEST_F(Quota, NoFilesNoLimit) { EXPECT_EQ(granted(), std::nullopt); }

TEST_F(Quota, NoMountNoLimit) {
    write("/proc/self/cgroup", "0::/a\n");
    write("/sys/fs/cgroup/a/cpu.max", "100000 100000\n");
    EXPECT_EQ(granted(), std::nullopt);
}

TEST_F(Quota, Version2RoundsUp) {
    version_2("/a");
    const std::pair<const char*, unsigned> cases[] = {
        {"100000 100000", 1}, {"150000 100000", 2}, {"50000 100000", 1}, {"1000 100000", 1},
        {"200000 100000", 2}, {"200001 100000", 3}, {"50000 25000", 2},  {"6400000 100000", 64},
    };
    for (const auto& [text, cpus] : cases) {
        write("/sys/fs/cgroup/a/cpu.max", std::string(text) + "\n");
        EXPECT_EQ(granted(), cpus) << text;
    }
}

TEST_F(Quota, Version2WithoutALimitOrWithNonsense) {
    version_2("/a");
    for (const char* text :
         {"max 100000", "max", "", "100000", "100000 0", "-1 100000", "0 100000", "one two", "nan 100000"}) {
        write("/sys/fs/cgroup/a/cpu.max", text);
        EXPECT_EQ(granted(), std::nullopt) << '"' << text << '"';
    }
}

TEST_F(Quota, Version2TheSmallestAlongThePathCounts) {
    version_2("/a/b/c");
    write("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    write("/sys/fs/cgroup/a/b/cpu.max", "300000 100000\n");
    write("/sys/fs/cgroup/a/cpu.max", "800000 100000\n");
    EXPECT_EQ(granted(), 3U);
    write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    EXPECT_EQ(granted(), 2U);
    write("/sys/fs/cgroup/a/b/c/cpu.max", "50000 100000\n");
    EXPECT_EQ(granted(), 1U);
    write("/sys/fs/cgroup/a/b/other/cpu.max", "1000 100000\n");
    EXPECT_EQ(granted(), 1U) << "no business of ours";
}

TEST_F(Quota, Version2InAContainerThatSeesItsSubtreeOnly) {
    version_2("/host/slice/box", "/host/slice");
    write("/sys/fs/cgroup/box/cpu.max", "400000 100000\n");
    EXPECT_EQ(granted(), 4U);
    version_2("/");
    write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    EXPECT_EQ(granted(), 3U);
}

TEST_F(Quota, Version2ASubtreeIsNotAPrefixOfAName) {
    version_2("/boxes/b", "/box");
    write("/sys/fs/cgroup/boxes/b/cpu.max", "500000 100000\n");
    EXPECT_EQ(granted(), 5U);
}

TEST_F(Quota, Version1) {
    version_1("/a");
    v1_quota("/a", "150000", "100000");
    EXPECT_EQ(granted(), 2U);
    v1_quota("/a", "50000", "100000");
    EXPECT_EQ(granted(), 1U);
    v1_quota("/a", "-1", "100000");
    EXPECT_EQ(granted(), std::nullopt);
    v1_quota("", "300000", "100000");
    EXPECT_EQ(granted(), 3U) << "the parent's limit holds for the child";
}

TEST_F(Quota, Version1MissingPeriod) {
    version_1("/a");
    write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "150000\n");
    EXPECT_EQ(granted(), std::nullopt);
}

TEST_F(Quota, BothVersionsMountedTheSmallerCounts) {
    write("/proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/b\n");
    write("/proc/self/mountinfo", "33 24 0:29 / /v1 rw - cgroup cgroup rw,cpu,cpuacct\n"
                                  "34 24 0:30 / /v2 rw - cgroup2 cgroup2 rw\n");
    write("/v1/a/cpu.cfs_quota_us", "700000\n");
    write("/v1/a/cpu.cfs_period_us", "100000\n");
    write("/v2/b/cpu.max", "600000 100000\n");
    EXPECT_EQ(granted(), 6U);
    write("/v2/b/cpu.max", "max 100000\n");
    EXPECT_EQ(granted(), 7U);
}

TEST_F(Quota, BrokenLinesAreSkipped) {
    version_2("/a");
    write("/proc/self/cgroup", "\nnonsense\n:\n0::/a\n");
    write("/sys/fs/cgroup/a/cpu.max", "200000 100000\n");
    EXPECT_EQ(granted(), 2U);
}

TEST(WorkersFrom, NothingSetNothingWanted) { EXPECT_EQ(os::workers_from(nullptr), std::nullopt); }

TEST(WorkersFrom, ANumberFrom1To4096) {
    EXPECT_EQ(os::workers_from("1"), 1U);
    EXPECT_EQ(os::workers_from("17"), 17U);
    EXPECT_EQ(os::workers_from("4096"), 4096U);
}

TEST(WorkersFrom, EverythingElseThrowsAndNamesVariableAndRange) {
    for (const char* bad : {"", " ", "0", "4097", "-1", "+4", " 4", "4 ", "4\n", "four", "4x", "0x4", "3.5",
                            "4294967297", "99999999999999999999999"}) {
        try {
            (void)os::workers_from(bad);
            ADD_FAILURE() << '"' << bad << "\" was accepted";
        } catch (const std::invalid_argument& e) {
            const std::string text = e.what();
            EXPECT_NE(text.find("PILFER_WORKERS"), std::string::npos) << text;
            EXPECT_NE(text.find("1 to 4096"), std::string::npos) << text;
            EXPECT_NE(text.find('"' + std::string(bad) + '"'), std::string::npos) << text;
        }
    }
}

TEST(AutomaticWorkers, TheVariableWinsAndTheMachineDecidesOtherwise) {
    const char* before = std::getenv("PILFER_WORKERS");
    const std::string kept = before != nullptr ? before : "";
    setenv("PILFER_WORKERS", "37", 1);
    EXPECT_EQ(os::automatic_workers(), 37U);
    setenv("PILFER_WORKERS", "none", 1);
    EXPECT_THROW((void)os::automatic_workers(), std::invalid_argument);
    unsetenv("PILFER_WORKERS");
    EXPECT_GE(os::automatic_workers(), 1U);
    EXPECT_LE(os::automatic_workers(), os::affinity_cpus());
    if (before != nullptr) {
        setenv("PILFER_WORKERS", kept.c_str(), 1);
    }
}

} // namespace
