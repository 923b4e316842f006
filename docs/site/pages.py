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
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".c": "c", ".h": "c", ".py": "python", ".sh": "bash", ".toml": "toml"}
PICTURES = (".svg", ".png")
LINK = re.compile(r"(?<=\]\()([^()\s#]+)(?=[)#])")
ITEM = re.compile(r"\s*([*+-]|\d+\.) ")


def for_python_markdown(text):
    """What GitHub renders as a list or a table but Python-Markdown does not: one without an empty line before it. Items
    inside items are indented by four columns."""
    out, fenced, indents = [], False, []
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        if not fenced and line.startswith("|"):
            # GitHub wants bars of code in a table escaped, Python-Markdown does not.
            line = re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line)
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


def recipe(program):
    """The comment at the top is the text, its first line the title; the rest is shown as it is."""
    lines = program.read_text(encoding="utf-8").rstrip().split("\n")
    end = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    title, *text = (line[2:].strip() for line in lines[:end])
    expected = program.with_suffix(".expected").read_text(encoding="utf-8").rstrip()
    code = "\n".join(lines[end:]).strip("\n")
    return (f"# {title}\n" + "\n".join(text) + f"\n\n```{LANGUAGES[program.suffix]}\n{code}\n```\n\n"
            f"It prints:\n\n```text\n{expected}\n```\n\nThe program is `docs/cookbook/{program.name}`.\n")


shown = {}  # other files that a page links to, each of which becomes a page


def linked(source, text):
    """The text, with links to files of the repository that are no pages led to pages that show them."""
    def target(link):
        path = (source.parent / link[1]).resolve()
        if path.is_dir() and path.is_relative_to(ROOT):
            if not (path / "README.md").exists():
                names = "".join(f"* {p.name}\n" for p in sorted(path.iterdir()))
                write(path.relative_to(ROOT) / "README.md", f"# {path.relative_to(ROOT)}\n\n{names}")
            return link[1].rstrip("/") + "/README.md"
        if "://" in link[1] or not path.is_file() or path.suffix in (".md", *PICTURES):
            return link[1]
        if path.parent == ROOT / "docs/cookbook":
            return str(Path(link[1]).with_suffix(".md"))
        shown[path] = path.relative_to(ROOT)
        return link[1] + ".md"
    return LINK.sub(target, text)


def write(path, text):
    (pages / path).parent.mkdir(parents=True, exist_ok=True)
    (pages / path).write_text(text, encoding="utf-8")


for folder, folders, files in os.walk(ROOT):
    folders[:] = [f for f in folders if not f.startswith((".", "build")) and f != "out"]
    for source in (Path(folder) / name for name in files):
        place = source.relative_to(ROOT)
        if source.suffix == ".md":
            write(place, for_python_markdown(linked(source, source.read_text(encoding="utf-8"))))
        elif source.suffix in PICTURES:
            (pages / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, pages / place)
for program in sorted((ROOT / "docs/cookbook").glob("*.c*")):
    write(f"docs/cookbook/{program.stem}.md", recipe(program))
for path, place in shown.items():
    code = path.read_text(encoding="utf-8").rstrip()
    write(f"{place}.md", f"# {place}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{code}\n````\n")
shutil.copytree(ROOT / "docs/site/assets", pages / "assets")

text = (ROOT / "docs/site/mkdocs.yml").read_text(encoding="utf-8")
# Pages of other authors, which may not have been written yet.
text = "".join(line for line in text.splitlines(True)
               if not line.rstrip().endswith("# optional") or (pages / line.split()[-3]).exists())
config.write_text(f"docs_dir: {pages}\n" + text, encoding="utf-8")
