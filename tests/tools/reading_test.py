#!/usr/bin/env python3
"""The counts of tools/reading.py, on a small tree whose counts a hand can check, and on this project."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "tools" / "reading.py"

TREE = {
    # 6 lines, 3 of them of namespace detail
    "include/pilfer/join.hpp": """#include <pilfer/detail/worker/worker.hpp>

// Runs both.
namespace detail {
struct hidden;
}
inline void join() { go(); std::move(1); }
""",
    "include/pilfer/detail/worker/worker.hpp": """namespace pilfer {
// calls("of a comment")
void go();
} // namespace pilfer
""",
    "src/worker/scheduler.hpp": """class scheduler : base<scheduler> {
public:
    explicit scheduler(int i) : m_next{i}, m_text("{") {}
    template <class F> requires(sizeof(F) > 1) [[nodiscard]] int run(F f) const noexcept { return f(); }
    void run(std::function<void(int)> f);
    void next() noexcept;
    int first = 0, *unused;
    static constexpr int limit = 3;
    enum class state { on, off };
    using word = unsigned long;

private:
    struct { int a; } m_pair;
    std::vector<int> m_list{1, 2};
    int m_next;
    const char* m_text;
};
""",
    "src/worker/go.cpp": """#include "worker/scheduler.hpp"
void go() { scheduler s(1); s.next(); s.get(); }
void scheduler::next() noexcept {
    low::one();
#if defined(PILFER_RACE)
    stop();
#endif
}
""",
    # Not followed: get() is in two classes, std::move() is not of this tree, two() is four calls away, stop() is for special
    # builds, and high() is in a higher room.
    "src/base/low.cpp": """namespace low { void one() { two(); high(); } }
""",
    "src/scope/high.cpp": "void high() {}\n",
    "include/pilfer/cluster.hpp": "inline void join() {}\n",
    "src/deque/stop.cpp": """void stop() {}
""",
    "src/base/two.cpp": "void two() {}\n",
    "src/base/move.cpp": "void move(int) {}\n",
    "src/base/one.cpp": "namespace high { void one() {} }\n",
    "src/base/get.cpp": "int a::get() { return 1; }\nint b::get() { return 2; }\n",
    "src/base/up.cpp": '#include "worker/scheduler.hpp"\n',
    "src/base/README.md": "three words here\n",
    "src/worker/README.md": "# Two\n\nmore words | and a bar\n",
}


def table(*arguments):
    """The rows that the script prints, name -> columns, and the lines behind the table."""
    text = subprocess.run([sys.executable, str(SCRIPT), *arguments], check=True, capture_output=True, text=True).stdout
    lines = text.splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("|")]
    return {row[0]: row[1:] for row in rows}, [line.strip() for line in lines if not line.startswith("|")]


class Small(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            for path, text in TREE.items():
                (pathlib.Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
                (pathlib.Path(folder) / path).write_text(text, encoding="utf-8")
            cls.rows, cls.files = table("--root", folder, "--files")

    def expect(self, row, text):
        self.assertEqual(self.rows[row], [text])

    def test_entry_point_follows_calls_to_a_depth(self):
        first = self.files.index("`join` with theft and errors:")
        self.assertEqual(self.files[first + 1:first + 4],
                         ["include/pilfer/join.hpp", "src/base/low.cpp", "src/worker/go.cpp"])
        self.expect("to read for `join` with theft and errors", "15 lines in 3 files")

    def test_members_of_a_class(self):
        self.expect("`scheduler`", "4 member functions in 2 files, 5 data members")
        self.expect("`pool_core`", "-")

    def test_rooms(self):
        self.expect("largest room", "worker: 28 lines in 3 files")
        self.expect("largest room in src", "worker: 24 lines in 2 files")
        self.expect("upward dependencies, included", "1 uses: base -> worker")

    def test_pages_and_headers(self):
        self.expect("words in room READMEs", "9")
        self.expect("longest room README", "worker: 3 lines, 6 words")
        self.expect("lines of `namespace detail` in public headers", "3")
        self.expect("largest public header", "pilfer/join.hpp: 6 lines")


class Project(unittest.TestCase):
    def test_this_tree_has_figures(self):
        rows, _ = table()
        for name, (text,) in rows.items():
            if name.startswith("to read for"):
                self.assertGreater(int(text.split()[3]), 1, f"{name}: {text}")
        self.assertIn("member functions", rows["`scheduler`"][0])


if __name__ == "__main__":
    unittest.main()
