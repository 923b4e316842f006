#!/usr/bin/env python3
"""pages.py PAGES CONFIG: lays the pages of the site out in the folder PAGES, as the repository has them, so that links
between them hold in both places. Each docs/cookbook/*.cpp becomes a page. Writes MkDocs' configuration to CONFIG."""
import os
import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
pages, config = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
LANGUAGES = {".cpp": "cpp", ".c": "c"}
ITEM = re.compile(r"\s*([*+-]|\d+\.) ")


def for_python_markdown(text):
    """What GitHub renders as a list or a table but Python-Markdown does not: one without an empty line before it. Items
    inside items are indented by four columns."""
    out, fenced, indents = [], False, []
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and not line.startswith("    ") and (item := ITEM.match(line)):
            indent = len(line) - len(line.lstrip())
            indents = [i for i in indents if i < indent] + [indent]
            if out and out[-1].strip() and len(indents) == 1 and not ITEM.match(out[-1]) and not out[-1][0].isspace():
                out.append("")
            line = "    " * (len(indents) - 1) + line.lstrip()
        elif not fenced and line.startswith("|") and out and out[-1].strip() and not out[-1].startswith("|"):
            out.append("")
        elif line.strip() and not line[0].isspace():
            indents = []
        out.append(line)
    return "\n".join(out)


def links_of_pages(text, source):
    """Links to sources, which are no pages, become their text."""

    def one(link):
        target = link[2].split("#")[0]
        if not target or "://" in target or target.startswith("mailto:"):
            return link[0]
        file = (source.parent / target).resolve()
        if file.is_file() and file.suffix in (".md", ".svg", ".png") or not file.exists():
            return link[0] # a dead link stays, to be found
        return link[1]

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", one, text)


def recipe(program):
    """The comment at the top is the text, its first line the title; the rest is shown as it is."""
    lines = program.read_text(encoding="utf-8").rstrip().split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    title, *text = (line[2:].strip() for line in lines[:end])
    expected = program.with_suffix(".expected").read_text(encoding="utf-8").rstrip()
    code = "\n".join(lines[end:]).strip("\n")
    return (f"# {title}\n" + "\n".join(text) + f"\n\n```{LANGUAGES[program.suffix]}\n{code}\n```\n\n"
            f"It prints:\n\n```text\n{expected}\n```\n\nThe program is `docs/cookbook/{program.name}`.\n")


for folder, folders, files in os.walk(ROOT):
    folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "out"]
    for name in files:
        source = Path(folder) / name
        target = pages / source.relative_to(ROOT)
        if name.endswith(".md"):
            target.parent.mkdir(parents=True, exist_ok=True)
            text = source.read_text(encoding="utf-8")
            if source.parent == ROOT / "docs/cookbook":
                text = re.sub(r"\]\((\w+)\.c(pp)?\)", r"](\1.md)", text)
            target.write_text(for_python_markdown(links_of_pages(text, source)), encoding="utf-8")
        elif name.endswith((".svg", ".png")):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
for program in sorted((ROOT / "docs/cookbook").glob("*.c*")):
    if program.suffix in LANGUAGES:
        (pages / "docs/cookbook" / f"{program.stem}.md").write_text(recipe(program), encoding="utf-8")
shutil.copytree(ROOT / "docs/site/assets", pages / "assets")

text = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
# Pages of other authors, which may not have been written yet.
text = "".join(line for line in text.splitlines(True)
               if not line.rstrip().endswith("# optional") or (pages / line.split()[-3]).exists())
config.write_text(f"docs_dir: {pages}\n" + text, encoding="utf-8")
