#!/usr/bin/env python3
"""The checks of the generated pages notice what they are there for, and the front page keeps its size."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PICTURES = [f"docs/guides/{family}.svg" for family in ("algorithms", "sorting", "graphs", "pipelines", "loops")]


def check(script, root):
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, root / script, "--check"], capture_output=True, text=True, env=environment)


class copy_of_the_repository(unittest.TestCase):
    """Each test changes one thing in a copy of what the checks read."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md", "docs", "include", "examples",
                                 "bench/*.py", "bench/results"], cwd=ROOT, capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("not a git checkout")
        for path in listed.stdout.split():
            if (ROOT / path).is_file():
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, self.root / path)

    def change(self, path, old, new):
        text = (self.root / path).read_text(encoding="utf-8")
        self.assertIn(old, text)
        (self.root / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    def fails(self, script, message):
        done = check(script, self.root)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)

    def test_unchanged_passes(self):
        for script in ("docs/features.py", "bench/readme.py", "bench/pictures.py"):
            done = check(script, self.root)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_missing_example(self):
        (self.root / "examples/fib.cpp").unlink()
        self.fails("docs/features.py", "examples: fib.cpp does not exist")

    def test_missing_page(self):
        (self.root / "docs/loops.md").unlink()
        self.fails("docs/features.py", "read: docs/loops.md does not exist")

    def test_renamed_header(self):
        (self.root / "include/pilfer/join.hpp").rename(self.root / "include/pilfer/joined.hpp")
        self.fails("docs/features.py", "headers: join.hpp does not exist")
        self.fails("docs/features.py", "no feature names include/pilfer/joined.hpp")

    def test_new_example(self):
        (self.root / "examples/c/new.c").write_text("int main(void) { return 0; }\n")
        self.fails("docs/features.py", "no feature names examples/c/new.c")

    def test_renamed_function(self):
        self.change("include/pilfer/scope.hpp", " sync_for(", " sync_within(")
        for header in (self.root / "include/pilfer").rglob("*.hpp"):
            header.write_text(header.read_text().replace("sync_for", "sync_within"))
        self.fails("docs/features.py", "no public header declares sync_for")

    def test_name_in_a_comment_only(self):
        self.change("docs/features.toml", '"pilfer_join2"', '"twin"')
        self.change("include/pilfer/pilfer.h", "\n", "\n// twin\n")
        self.fails("docs/features.py", "no C header declares twin")

    def test_edited_page(self):
        self.change("docs/features.md", "## Loops", "## Loops and more")
        self.fails("docs/features.py", "docs/features.md is not what docs/features.toml says")

    def test_typed_figure(self):
        for path in ("README.md", "docs/results.md"):
            text = (self.root / path).read_text(encoding="utf-8")
            figure = re.search(r"\| fib .*?(\d\.\d\d)", text).group(1)
            (self.root / path).write_text(text.replace(figure, "0.01", 1), encoding="utf-8")
            self.fails("bench/readme.py", f"{path} differs from")

    def test_edited_chart(self):
        self.change("docs/front.svg", "Cost of a fork", "Price of a fork")
        self.fails("bench/readme.py", "docs/front.svg differs from")

    def test_edited_picture(self):
        for picture in PICTURES:
            self.change(picture, "Speed-up over", "Speed above")
            self.fails("bench/pictures.py", f"{picture} is not what bench/results/")

    def test_changed_measurement(self):
        for path in (self.root / "bench/results").glob("pictures-*.json"):
            text = path.read_text(encoding="utf-8")
            path.write_text(text.replace('"workers": 2', '"workers": 3'), encoding="utf-8")
            self.fails("bench/pictures.py", f"is not what bench/results/{path.name} says")

    def test_guides_show_their_pictures(self):
        for picture in PICTURES:
            self.assertIn(f"]({Path(picture).name})", (ROOT / picture).with_suffix(".md").read_text(encoding="utf-8"))


def without_code(page):
    return re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.S)


class front_page(unittest.TestCase):
    def setUp(self):
        self.text = (ROOT / "README.md").read_text(encoding="utf-8")

    def test_is_short(self):
        self.assertLessEqual(len(self.text.splitlines()), 180)
        self.assertLessEqual(len(self.text.split()), 1600)

    def test_links_lead_somewhere(self):
        for name in ("README.md", "AGENTS.md", "SECURITY.md", "docs/features.md", "docs/limits.md", "docs/results.md", "docs/versions.md",
                     "CONTRIBUTING.md", "CHANGELOG.md"):
            page = ROOT / name
            for link in re.findall(r"\]\(([^)#]+)\)", without_code(page)):
                if "://" not in link:
                    with self.subTest(page=name, link=link):
                        self.assertTrue((page.parent / link).exists())

    def test_figures_are_generated_only(self):
        outside = re.sub(r"<!-- results:.*?<!-- /results -->|```.*?```", "", self.text, flags=re.S)
        self.assertEqual(re.findall(r"\d[\d.,]* ?(?:ns|us|ms|times|%|per cent)\b", outside), [])


if __name__ == "__main__":
    unittest.main()
