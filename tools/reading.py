#!/usr/bin/env python3
"""Counts what a newcomer has to read, and prints it as a table.

    tools/reading.py [--base COMMIT] [--linked BUILD] [--files] [--root FOLDER]

`--base` adds a column for another commit, `--files` the list of files behind each entry point, and `--linked` the
dependencies that the objects in a build folder show (see ci/layers.py).

How it counts:

* A line is a line that is not blank. Comments are lines: they are read too.
* A room is a folder of src/, with include/pilfer/detail/<room>/. Its size counts both halves.
* A member function is a declaration or a definition inside the class, so that overloads count one by one. "In N files": the
  class's own file and the others that define a function `Class::name`. A data member is not static.
* An entry point begins with its public header and some functions, which ENTRIES names. From each function the walk follows
  calls, `name(...)` and `&Class::name`, to definitions in src/ and include/, at most DEPTH calls deep. The result is the files
  with a followed definition. All their lines count, because a reader opens the file.
* A call is followed to the definitions of that name in the class or namespace that is written in front of it. Without one, those
  of the same class count first, then those of the same file. Then headers that the file includes, directly or not, and all of
  src/*.cpp. If these are in more than one class, the call is not followed: `x.get()` would lead everywhere.
* If several rooms have a function of the name, the entry is that of the lowest one.
* A call never leads to a higher room (ci/layers.py), nor to code for special builds, such as those of the checker of races.
* So the figures are rough. They compare two commits. They do not replace a reader with a clock.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "ci"))
import layers  # noqa: E402

DEPTH = 3
SPECIAL = r"\bPILFER_(?:RACE|TEST|CHAOS|ASAN|TSAN)\b"

# What is entered -> its public header and its functions. Functions that a tree does not have are left out. Of "new|old", for a
# function that was moved, the first one counts that the tree has.
ENTRIES = {
    "`join` with theft and errors": ("join.hpp", ("join", "thief::try_steal|scheduler::try_steal", "join_spark::run_stolen")),
    "`spawn` and `sync`": ("scope.hpp", ("scope::spawn", "scope::sync", "thief::try_steal|scheduler::try_steal")),
    "`future::get`": ("future.hpp", ("future::get", "future_core::wait")),
    "cancellation": ("cancel.hpp", ("cancelled", "scope::cancel", "leave_if_stopped", "join_spark::abandon")),
}
CLASSES = ("scheduler", "pool_core")

NOT_CALLS = set("""alignas alignof and assert catch const_cast decltype defined delete dynamic_cast else explicit for if new noexcept
    not operator or reinterpret_cast requires return sizeof static_assert static_cast switch throw typeid while
    __attribute__""".split())
BLANKED = re.compile(
    r'R"(\w*)\((?:.*?)\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:\\\n|[^\n])*',
    re.S | re.M)
CALL = re.compile(r"(?:(\w*)(?:<[^;(){}<>]*>)?\s*::\s*)?\b([a-z_]\w*)\s*(?:<[^;(){}]*?>)?\s*\(|&\s*(\w+)\s*::\s*(\w+)")

Function = collections.namedtuple("Function", "name owner space file body")


def count_words(text):
    """Without the bars of tables and other signs."""
    return sum(any(c.isalnum() for c in word) for word in text.split())


def blank(text):
    """The text without comments, literals and preprocessor lines; every line stays a line."""
    return BLANKED.sub(lambda m: '""' if m.group(0)[0] in "R\"'" else "\n" * m.group(0).count("\n"), text)


def for_users(text):
    """The text without what only special builds compile: SPECIAL names their macros."""
    kept, hidden, depth = [], None, 0
    for line in text.splitlines():
        word = re.match(r"[ \t]*#[ \t]*(if|else|elif|endif)", line)
        if word:
            kind = word.group(1)
            if kind == "if":
                depth += 1
                if hidden is None and re.search(SPECIAL, line) and not re.search(r"!\s*defined", line):
                    hidden = depth
            elif hidden == depth:
                hidden = None
            depth -= kind == "endif"
        kept.append("" if hidden is not None else line)
    return "\n".join(kept)


def closing(text, at):
    """The position of the brace that closes the one at `at`."""
    depth = 0
    for match in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if match.group(0) == "{" else -1
        if depth == 0:
            return match.start()
    return len(text)


def without_template(head):
    """A declaration without `template <...>`, attributes, and macros that are attributes."""
    head = re.sub(r"\[\[[^\]]*\]\]|\balignas\s*\([^()]*(?:\([^()]*\))?[^()]*\)|\bPILFER_(?!CHAOS)\w+\b(?:\s*\([^()]*\))?", " ", head)
    while match := re.match(r"\s*template\s*<", head):
        depth, at = 1, match.end()
        while depth and at < len(head):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return head.strip()


class Scan:
    """Functions and classes of a file."""

    def __init__(self, file, text):
        self.functions = []
        self.classes = {}  # name -> [member functions, data members]
        self._file = file
        self._walk(blank(for_users(text)), None, None)

    def _member(self, owner, declaration):
        if owner is None or not declaration:
            return
        counts = self.classes[owner]
        if re.match(r"(?:using|friend|typedef|static_assert|enum|class|struct|union)\b", declaration):
            counts[1] += bool(re.search(r"\}\s*\w+(?:\{[^{}]*\})?$", declaration))  # a member of a type without a name
        elif self._name(declaration):
            counts[0] += 1
        elif not re.match(r"(?:inline\s+)?(?:static|constexpr)\b", declaration):
            counts[1] += 1

    @staticmethod
    def _name(head):
        """(class or namespace in front, name) of the function that a head declares, None if it declares none."""
        plain = head.split("=")[0] if not re.search(r"operator\s*[=!<>+\-*/&|]", head) else head
        # Template arguments may have parentheses.
        previous = None
        while plain != previous:
            previous, plain = plain, re.sub(r"(?<!operator)<[^<>;{}]*>", "", plain)
        if match := re.search(r"(?:(\w+)\s*::\s*)?\boperator\b", plain):
            return match.group(1), "operator"
        for match in re.finditer(r"(?:(\w+)\s*::\s*)?(~?\b\w+)\s*\(", plain):
            if match.group(2) not in NOT_CALLS:
                return match.group(1), match.group(2)
        return None

    def _walk(self, text, owner, space):
        """Everything at the level of the namespace `space`, or of the class `owner`."""
        start = at = depth = 0
        while at < len(text):
            letter = text[at]
            if letter == "(":
                depth += 1
            elif letter == ")":
                depth -= 1
            elif depth:
                pass
            elif letter == ";":
                self._member(owner, without_template(text[start:at]))
                start = at + 1
            elif letter == ":" and re.fullmatch(r"\s*(?:public|private|protected)\s*", text[start:at]):
                start = at + 1
            elif letter == "{":
                end = closing(text, at)
                if self._block(text[start:at], text[at + 1:end], owner, space):
                    start = end + 1
                at = end
            at += 1

    def _block(self, head, body, owner, space):
        """What is in braces behind a head. False if the declaration goes on behind them."""
        head = without_template(head)
        if re.match(r'(?:inline\s+)?namespace\b|extern\s*""', head):
            self._walk(body, owner, re.split(r"\W+", head)[-1])
            return True
        if match := re.match(r"(?:typedef\s+)?(?:class|struct|union)\s*([\w:]*)(?![^:]*\()", head):
            name = match.group(1).split("::")[-1] or "anonymous"
            self.classes.setdefault(name, [0, 0])
            self._walk(body, name, space)
            return False
        if re.match(r"(?:enum|concept)\b", head) or head.endswith("=") or re.search(r"\brequires\s*(?:\([^()]*\))?$", head):
            return False
        name = self._name(head)
        # A member that a constructor initialises with braces: the body comes later.
        if name is None or re.search(r"\)[^()]*:[^:].*[\w>]$", head, re.S) and not re.search(r"(?:const|noexcept|override|final)$", head):
            return False
        if re.search(r"[\w)>]\s*:\s*[\w:<>, ]+$", head) and not re.search(r"\)\s*(?:const|noexcept|override|final)*$", head):
            return False
        if owner:
            self.classes[owner][0] += 1
        self.functions.append(Function(name[1], owner or name[0], space, self._file, head + "{" + body))
        return True


class Tree:
    """The sources below a folder."""

    def __init__(self, root):
        self.root = root
        self.files = layers.sources(root)
        self.text = {file: (root / file).read_text(encoding="utf-8") for file in self.files}
        self.lines = {file: sum(1 for line in text.splitlines() if line.strip()) for file, text in self.text.items()}
        self.includes = {file: set(layers.includes(root, file)) for file in self.files}
        headers = layers.header_rooms()
        self.rank = {file: layers.RANKS.index(room) for file in self.files
                     if (room := layers.room_of(file, headers)) in layers.RANKS}
        scans = {file: Scan(file, text) for file, text in self.text.items()
                 if not file.endswith((".S", ".h")) and not file.startswith(("src/race/", "src/race_history/"))}
        self.classes = {name: (file, counts) for file, scan in scans.items() for name, counts in scan.classes.items()
                        if sum(counts)}
        self.functions = collections.defaultdict(list)
        for scan in scans.values():
            for function in scan.functions:
                self.functions[function.name].append(function)
        self._visible = {}

    def visible(self, file):
        """Files that a file includes, directly or not, and itself."""
        if file not in self._visible:
            seen, new = set(), {file}
            while new:
                seen |= new
                new = {target for one in new for target in self.includes[one]} - seen
            self._visible[file] = seen
        return self._visible[file]

    def definitions(self, caller, qualifier, name):
        """The definitions that a call in `caller` may mean, none if there are too many classes of them."""
        rank = self.rank.get(caller.file, len(layers.RANKS))
        found = [f for f in self.functions.get(name, []) if self.rank.get(f.file, 0) <= rank]
        if qualifier is not None:
            owned = [f for f in found if f.owner == qualifier]
            found = owned or [f for f in found if f.owner is None and f.space == qualifier]
        elif nearest := ([f for f in found if f.owner and f.owner == caller.owner] or
                         [f for f in found if f.file == caller.file]):
            found = nearest
        visible = self.visible(caller.file)
        found = [f for f in found if f.file in visible or f.file.endswith(".cpp")]
        return found if len({f.owner for f in found}) == 1 else []

    def walk(self, header, names):
        """Files behind an entry point."""
        new = []
        for name in names:
            found = []
            for one in name.split("|"):
                owner, _, last = one.rpartition("::")
                found = found or [f for f in self.functions.get(last, ()) if f.owner == (owner or None)]
            if not found:
                print(f"reading.py: {self.root} has no function {name}", file=sys.stderr)
            lowest = min((self.rank.get(f.file, 0) for f in found), default=0)
            new += [f for f in found if self.rank.get(f.file, 0) == lowest]
        files = {f"include/pilfer/{header}"} & set(self.files) | {f.file for f in new}
        seen = {id(f) for f in new}
        for _ in range(DEPTH):
            following = []
            for caller in new:
                for match in CALL.finditer(caller.body):
                    qualifier, name = (match.group(1), match.group(2)) if match.group(2) else match.group(3, 4)
                    if name in NOT_CALLS:
                        continue
                    for function in self.definitions(caller, qualifier, name):
                        if id(function) not in seen:
                            seen.add(id(function))
                            following.append(function)
            files |= {f.file for f in following}
            new = following
        return sorted(files)

    def rooms(self):
        """Files of each room."""
        rooms = collections.defaultdict(list)
        for file in self.files:
            if match := re.match(r"(?:src|include/pilfer/detail)/(\w+)/", file):
                rooms[match.group(1)].append(file)
        return rooms

    def defining(self, name):
        """Files that define member functions of a class, or the class."""
        return {f.file for functions in self.functions.values() for f in functions if f.owner == name} | {self.classes[name][0]}

    def public_headers(self):
        """Headers of users, not those of detail/."""
        return [file for file in self.files if re.match(r"include/pilfer/(?!detail/)", file) and file.endswith(".hpp")]


def detail_lines(text):
    """Lines of `namespace detail` in a header that are not blank."""
    plain, count = blank(text), 0
    for match in re.finditer(r"\bnamespace\s+detail\s*\{", plain):
        first = plain.count("\n", 0, match.start())
        last = plain.count("\n", 0, closing(plain, match.end() - 1))
        # A forward declaration on one line is no part of an implementation.
        count += sum(1 for line in text.splitlines()[first:last + 1] if line.strip())
    return count


def measured(root, build=None):
    """The table's rows, name -> text, and the files behind each entry point."""
    tree = Tree(root)
    rows, behind = {}, {}

    def size(files):
        return f"{sum(tree.lines[file] for file in files):,} lines in {len(files)} files"

    for name, (header, functions) in ENTRIES.items():
        behind[name] = tree.walk(header, functions)
        rows[f"to read for {name}"] = size(behind[name])
    rooms = tree.rooms()
    largest = max(rooms, key=lambda room: sum(tree.lines[file] for file in rooms[room]), default=None)
    inside = {room: [file for file in files if file.startswith("src/")] for room, files in rooms.items()}
    in_src = max(inside, key=lambda room: sum(tree.lines[file] for file in inside[room]), default=None)
    rows["largest room"] = f"{largest}: {size(rooms[largest])}" if largest else "-"
    rows["largest room in src"] = f"{in_src}: {size(inside[in_src])}" if in_src else "-"
    for name in CLASSES:
        if name in tree.classes:
            functions, data = tree.classes[name][1]
            rows[f"`{name}`"] = f"{functions} member functions in {len(tree.defining(name))} files, {data} data members"
        else:
            rows[f"`{name}`"] = "-"
    found, _ = layers.include_violations(root)
    rows["upward dependencies, included"] = edges(found)
    if build:
        found, complaints = layers.linked_violations(build)
        if complaints:
            sys.exit("\n".join(complaints))
        rows["upward dependencies, linked"] = edges(found)
    pages = {page.parent.name: page.read_text(encoding="utf-8") for page in sorted(root.glob("src/*/README.md"))}
    rows["words in room READMEs"] = f"{sum(count_words(text) for text in pages.values()):,}"
    longest = max(pages, key=lambda room: count_words(pages[room]), default=None)
    rows["longest room README"] = (f"{longest}: {len(pages[longest].splitlines())} lines, {count_words(pages[longest]):,} words"
                                   if longest else "-")
    headers = tree.public_headers()
    rows["lines of `namespace detail` in public headers"] = f"{sum(detail_lines(tree.text[file]) for file in headers):,}"
    header = max(headers, key=lambda file: tree.lines[file], default=None)
    rows["largest public header"] = f"{header.removeprefix('include/')}: {tree.lines[header]} lines" if header else "-"
    return rows, behind


def edges(found):
    """How many uses over which pairs of rooms."""
    pairs = sorted({f"{room} -> {used}" for room, used, _, _ in found})
    return f"{len(found)} uses: {', '.join(pairs)}" if pairs else "none"


def measured_at(commit):
    """measured() of a commit."""
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / "tree.tar"
        subprocess.run(["git", "-C", str(ROOT), "archive", "-o", str(archive), commit, "src", "include"], check=True)
        with tarfile.open(archive) as tar:
            tar.extractall(folder)
        return measured(pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    parser.add_argument("--base", metavar="COMMIT", help="a second column, of this commit")
    parser.add_argument("--linked", type=pathlib.Path, metavar="BUILD", help="a row more, from the objects in this folder")
    parser.add_argument("--files", action="store_true", help="the files behind each entry point")
    arguments = parser.parse_args()
    columns = [("now", *measured(arguments.root, arguments.linked))]
    if arguments.base:
        columns.insert(0, (arguments.base, *measured_at(arguments.base)))
    print("| | " + " | ".join(name for name, _, _ in columns) + " |")
    print("| --- |" + " --- |" * len(columns))
    for row in columns[-1][1]:
        print(f"| {row} | " + " | ".join(rows.get(row, "-") for _, rows, _ in columns) + " |")
    if arguments.files:
        for entry, files in columns[-1][2].items():
            print(f"\n{entry}:", *files, sep="\n    ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
