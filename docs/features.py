#!/usr/bin/env python3
"""Makes docs/features.md of docs/features.toml, or with --check holds both against the repository.

--check ends with 1 and says why if a named header, example, page or C or C++ name does not exist, if a public header or
an example belongs to no feature, or if features.md is not what the data says. --root takes another repository's root."""
import argparse
import re
import sys
import tomllib
from pathlib import Path

TEXTS = {"goal", "name", "text"}
LISTS = {"use", "headers", "c", "examples", "read", "open", "limits"}


def load(root):
    features = tomllib.loads((root / "docs/features.toml").read_text(encoding="utf-8"))["feature"]
    for f in features:
        unknown, missing = set(f) - TEXTS - LISTS, (TEXTS | {"headers"}) - set(f)
        if unknown or missing:
            sys.exit(f"features.py: {f.get('name', '?')}: unknown {sorted(unknown)}, missing {sorted(missing)}")
        for name in LISTS:
            f.setdefault(name, [])
    return features


def links(folder, paths):
    """Links from docs/ to files below this folder."""
    return ", ".join(f"[{path}]({Path('..') / folder / path})" for path in paths)


def pages(paths):
    return ", ".join(f"[{p.removeprefix('docs/')}]({p.removeprefix('docs/') if p.startswith('docs/') else '../' + p})" for p in paths)


def page(features):
    out = ["# Features", "",
           "Everything that pilfer has, by goal. `docs/features.py` makes this page of `docs/features.toml`; edit that file.",
           "A feature without a line *Missing* is complete."]
    goal = None
    for f in features:
        if f["goal"] != goal:
            goal = f["goal"]
            out += ["", f"## {goal}"]
        out += ["", f"### {f['name']}", f["text"], ""]
        code = lambda names: ", ".join(f"`{n}`" for n in names)
        rows = [("Names", code(f["use"])), ("Headers", links("include/pilfer", f["headers"])), ("C", code(f["c"])),
                ("Examples", links("examples", f["examples"])), ("More", pages(f["read"]))]
        out += [f"* {title}: {text}" for title, text in rows if text]
        out += [f"* Missing: {text}" for text in f["open"]]
        out += [f"* Limit: {text}" for text in f["limits"]]
    return "\n".join(out) + "\n"


def code_of(paths):
    """The words of these headers without their comments."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in paths)
    return set(re.findall(r"\w+", re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)))


def faults(root, features):
    include, examples = root / "include/pilfer", root / "examples"
    public = {p for p in include.rglob("*.h*") if "detail" not in p.relative_to(include).parts}
    words = code_of(p for p in public if p.suffix == ".hpp")
    c_words = code_of(p for p in public if p.suffix == ".h")
    for f in features:
        for key, folder in (("headers", include), ("examples", examples), ("read", root)):
            yield from (f"{f['name']}: {key}: {path} does not exist" for path in f[key] if not (folder / path).is_file())
        yield from (f"{f['name']}: no public header declares {name}" for name in f["use"] if name not in words)
        yield from (f"{f['name']}: no C header declares {name}" for name in f["c"] if name not in c_words)
    for what, have, folder in (("headers", public, include),
                               ("examples", {p for g in ("*.cpp", "c/*.c", "adapters/*.cpp") for p in examples.glob(g)}, examples)):
        named = {path for f in features for path in f[what]}
        yield from (f"no feature names {p.relative_to(root)}" for p in sorted(have) if str(p.relative_to(folder)) not in named)
    order = [f["goal"] for i, f in enumerate(features) if i == 0 or f["goal"] != features[i - 1]["goal"]]
    yield from (f"the features of the goal {g} are not in one place" for g in sorted({g for g in order if order.count(g) > 1}))
    shown = root / "docs/features.md"
    if not shown.is_file() or shown.read_text(encoding="utf-8") != page(features):
        yield "docs/features.md is not what docs/features.toml says; docs/features.py puts it right"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    options = parser.parse_args()
    features = load(options.root)
    if not options.check:
        (options.root / "docs/features.md").write_text(page(features), encoding="utf-8")
        return 0
    found = list(faults(options.root, features))
    for fault in found:
        print(f"features.py: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
