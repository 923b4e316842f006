#!/usr/bin/env python3
"""Compiles small mistakes of users and looks for the sentence that each of them should give.

    tests/messages/messages.py COMPILER FLAG...

The flags are those of a user's program: include folders and the like. One program has no mistake, and has to compile.
"""

import concurrent.futures
import os
import subprocess
import sys

BEGIN = "#include <pilfer/pilfer.hpp>\n#include <pilfer/algorithm.hpp>\n" \
        "inline pilfer::task<int> work() { co_return 1; }\n"
RETURNED = "a task<T> does not run by being returned"

# What the user writes -> what one of the compiler's lines has to contain, or one of several; empty: it has to compile.
CASES = [
    ("int main() { return pilfer::pool::common().run(work()); }", ""),
    ("void f(pilfer::pool& p) { p.submit([] { return work(); }); }", RETURNED),
    ("auto f() { return pilfer::async([] { return work(); }); }", RETURNED),
    ("void f(pilfer::scope& s) { s.fork([] { return work(); }); }", RETURNED),
    ("void f(pilfer::scope& s) { s.spawn([] { return work(); }); }", RETURNED),
    ("auto f() { return pilfer::after(std::chrono::seconds(1), [] { return work(); }); }", RETURNED),
    ("pilfer::task<int> f() { auto t = work(); co_return co_await t; }", "co_await std::move(t)"),
    ("struct other {}; auto f(pilfer::future<int> r) { return r.then([](other) {}); }", "the function takes the result"),
    ("struct other {}; auto f(pilfer::future<int> r) { return r.continue_with([](other) {}); }",
     "the function takes the future itself"),
    ("struct other {}; void f(pilfer::graph& g) { g.task([](other) {}, g.task([] { return 1; })); }",
     "a task takes the values of its inputs"),
    ("int f(pilfer::synchronized<int>& s) { return s.read([](int& x) { return x; }); }",
     "a read() takes a constant reference"),
    ("void f(unsigned long n) { pilfer::for_each(0, n, [](unsigned long) {}); }", "deleted"),
    ("int f(unsigned long n) { return pilfer::reduce(0, n, 0, [](int i) { return i; }, std::plus<>()); }", "deleted"),
    ("struct b {}; struct d : b {}; d* f(std::vector<d*>& v) {"
     " return pilfer::reduce(v, (d*)nullptr, std::identity{}, [](d* x, d*) -> b* { return x; }); }", "invalid|cannot"),
    ("struct picky { void operator()(int) = delete; void operator()(int) const {} };"
     " void f() { pilfer::for_each(0, 9, picky{}); }", ""),
    ("int f(pilfer::monitor<int>& m) { return **m.try_call_when([](int) { return true; }, [](int& x) ->"
     " const std::unique_ptr<int> { return std::make_unique<int>(x); }); }", ""),
    ("void f() { pilfer::pipeline(4, pilfer::serial_in_order([] { return 1; }), pilfer::parallel_stage([](int) {})); }",
     "the source returns std::optional<T>"),
]
OLD = ("int main() {}", "pilfer needs -std=c++20")
# A compiler that says it is an older one.
OLD_COMPILERS = {"clang": ("__clang_major__", "15", "pilfer needs clang++ 16"), "g++": ("__GNUC__", "10", "pilfer needs g++ 11")}
WITHOUT_STOP_TOKEN = ("int main() {}", "add -fexperimental-library")


def judge(command, text, wanted):
    """A sentence about what is wrong; empty: nothing."""
    done = subprocess.run([*command, "-x", "c++", "-fsyntax-only", "-"], input=BEGIN + text, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if wanted == "":
        return "" if done.returncode == 0 else f"{text}\n  does not compile:\n{done.stdout}"
    if done.returncode == 0:
        return f"{text}\n  compiles"
    return "" if any(text in done.stdout for text in wanted.split("|")) else f"{text}\n  does not say '{wanted}':\n{done.stdout}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    compiler, *flags = sys.argv[1:]
    jobs = [([compiler, "-std=c++20", *flags], *case) for case in CASES]
    jobs.append(([compiler, "-std=c++17", *flags], *OLD))
    kind = "clang" if "clang" in os.path.basename(compiler) else "g++"
    macro, version, sentence = OLD_COMPILERS[kind]
    jobs.append(([compiler, "-std=c++20", f"-U{macro}", f"-D{macro}={version}", *flags], "int main() {}", sentence))
    libcxx = [compiler, "-std=c++20", "-stdlib=libc++"]
    if kind == "clang" and subprocess.run([*libcxx, "-x", "c++", "-fsyntax-only", "-"], input="#include <version>\n", text=True,
                                          check=False, stderr=subprocess.DEVNULL).returncode == 0:
        jobs.append(([*libcxx, *flags], *WITHOUT_STOP_TOKEN))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as runs:
        wrong = [line for line in runs.map(lambda job: judge(*job), jobs) if line]
    print("\n".join(wrong))
    print(f"messages: {len(jobs)} programs, {len(wrong)} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
