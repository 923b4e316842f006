#!/usr/bin/env python3
"""extract.py GUIDE.md OUT.cpp: a program of pilfer's side of a guide. OUT.c: the program in its block marked `c`.

Taken are blocks marked `cpp` and, in tables whose last column is headed `pilfer`, each piece of code in that column that
is C++ (PILFER_X=... is the environment, `pilfer profile` a command). Whatever begins with a function's head stands for
itself; everything else becomes a function, which the program calls. A page with a block that has a main() is that
program, and nothing else of the page is taken. Ends with 1 where there is nothing to take."""
import re
import sys

guide, out = sys.argv[1:]
lines = open(guide, encoding="utf-8").read().split("\n")
pieces = []  # line, code
table = False
at = 0
while at < len(lines):
    line = lines[at]
    if line == ("```c" if out.endswith(".c") else "```cpp"):
        end = lines.index("```", at)
        pieces.append((at + 2, "\n".join(lines[at + 1 : end])))
        at = end
    elif line.startswith("```"):
        at = lines.index("```", at + 1)
    elif line.startswith("|"):
        cells = [c.strip() for c in re.sub(r"`[^`]*`", lambda m: m[0].replace("|", "\0"), line).strip("|").split("|")]
        if cells[-1] == "pilfer":
            table = True
        elif table and not set(cells[-1]) <= set("- :"):
            for code in re.findall(r"`([^`]*)`", cells[-1].replace("\0", "|")):
                if "::" in code or re.match(r"(s|pool)\.", code) or code.startswith("(void)"):
                    pieces.append((at + 1, code))
    else:
        table = False
    at += 1
if not pieces:
    sys.exit(f"{guide}: nothing of pilfer's side was found")
for line, code in pieces:
    if re.search(r"^int main\(", code, re.M):
        open(out, "w", encoding="utf-8").write(f'#line {line} "{guide}"\n{code}\n')
        print(f"{guide}: a program")
        sys.exit()
text = '#include "docs/prelude.hpp"\n\nusing namespace guide;\n'
calls = []
for number, (line, code) in enumerate(pieces):
    place = f'#line {line} "{guide}"\n'
    if re.match(r"(?:long|void|int) \w+\(.*\{$", code.split("\n")[0]):
        text += f"namespace piece_{number} {{\n{place}{code}\n}}\n"
    else:
        if not code.rstrip().endswith((";", "}")):
            code += ";"
        text += f"void piece_{number}(pilfer::pool& pool, pilfer::scope& s, double& sum) {{\n"
        # A block of its own, in which a piece may declare these names once more.
        text += f"(void)pool; (void)s; (void)sum;\n{{\n{place}{code}\n}}\n}}\n"
        calls.append(number)
text += "int main() {\n    pilfer::pool pool({.workers = 2});\n    double sum = 0;\n"
for number in calls:
    text += "    pool.run([&] { pilfer::scope s; " + f"piece_{number}(pool, s, sum);" + " s.sync(); });\n"
text += "}\n"
open(out, "w", encoding="utf-8").write(text)
print(f"{guide}: {len(pieces)} pieces, {len(calls)} of which run")
