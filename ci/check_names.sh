#!/usr/bin/env bash
# ci/check_names.sh               forbidden names in src/ and include/ (see check_names.pl)
# ci/check_names.sh --self-test   the check itself: every kind of offence is found, and lawful code is not
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1:-} != --self-test ]]; then
    exec perl "$here/check_names.pl" "${1:-$here/..}"
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
wrong=0

# expect <found|clean> <file> <text>: the text, alone in that file of an otherwise lawful tree.
expect() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/src/{base,worker} "$tree/include/pilfer/detail/worker"
    touch "$tree/src/base/os.hpp" "$tree/src/worker/loop.hpp" "$tree/include/pilfer/detail/worker/hot.hpp"
    mkdir -p "$(dirname "$tree/$2")"
    printf '%s\n' "$3" >"$tree/$2"
    local outcome=clean
    perl "$here/check_names.pl" "$tree" >"$tree/out" 2>&1 || outcome=found
    if [[ $outcome != "$1" ]]; then
        echo "expected $1, was $outcome: $2: $3"
        cat "$tree/out"
        wrong=1
    elif [[ $1 == found ]] && ! grep -q "^$2:" "$tree/out"; then
        echo "found, but not in $2: $3"
        wrong=1
    fi
}

for text in 'std::condition_variable cv;' 'std::condition_variable_any cv;' 'std::counting_semaphore<1> s{0};' \
    'std::binary_semaphore s{0};' 'using std::atomic;' 'using namespace std;' 'namespace s = std;' \
    'void f() { usleep(1); }' 'void f() { std::this_thread::sleep_for(1ms); }' '#include <condition_variable>' \
    'std::atomic<int> m_word; void f() { m_word.wait(0); }' 'std::atomic<int> w; void f() { w.notify_one(); }' \
    'void f(std::atomic<unsigned>& word) { word.wait(0); }' 'std::atomic_flag g; void f() { g.notify_all(); }' 'void f() { p->wait(0, std::memory_order_acquire); }' \
    'std::atomic<std::vector<int>*> w; void f() { w.notify_all(); }' 'void f() { std::atomic_wait(&w, 0); }' \
    '/* no */ std::latch l{1}; // std::latch' 'pthread_cond_t c; int r = pthread_cond_wait(&c, &m);'; do
    expect found src/worker/a.cpp "$text"
    expect found include/pilfer/a.hpp "$text"
done
for header in sys/mman.h linux/futex.h unistd.h pthread.h sched.h; do
    expect found src/worker/a.cpp "#include <$header>"
    expect found include/pilfer/a.hpp "#  include <$header>"
    expect found include/pilfer/detail/worker/a.hpp "#include <$header>"
    expect clean src/base/a.cpp "#include <$header>"
    expect clean src/context/a.cpp "#include <$header>"
    expect clean include/pilfer/detail/context/x86_64.hpp "#include <$header>"
done
expect_row() { # <found|clean> <function in the page>
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/docs"
    printf '| `%s` | here | there |\n' "$2" >"$tree/docs/porting.md"
    printf '[[nodiscard]] int next_cpu(unsigned from) noexcept;\n' >"$tree/src/base/os.hpp"
    local outcome=clean
    perl "$here/check_names.pl" "$tree" >"$tree/out" 2>&1 || outcome=found
    [[ $outcome == "$1" ]] || { echo "expected $1, was $outcome: docs/porting.md with $2"; cat "$tree/out"; wrong=1; }
}
expect_row found another_function
expect_row clean next_cpu
for text in 'void f() { mmap(nullptr, 1, 0, 0, -1, 0); }' 'void f() { ::close(3); }' 'int f() { return ::read (0, p, 1); }' \
    'auto id = syscall(SYS_gettid);' 'void f() { if (pthread_self() == t) g(); }' 'void f() { sched_yield(); }' \
    'auto n = sysconf(_SC_PAGESIZE);' 'int e = epoll_wait(fd, events, 1, 0);' 'void f() { _exit(1); }' \
    'const char* t = strerrordesc_np(5);' '#if defined(__linux__)' '#ifdef _WIN32' '#elif __GLIBC_PREREQ(2, 32)' \
    'struct sigaction a; int r = sigaction(1, &a, nullptr);' 'auto p = ::fork();' '#include <csignal>' '#include <mach/mach.h>' \
    '#define _GNU_SOURCE'; do
    expect found src/worker/a.cpp "$text"
    expect found include/pilfer/a.hpp "$text"
    expect found include/pilfer/detail/worker/a.hpp "$text"
    expect clean src/base/a.cpp "$text"
    expect clean src/context/a.cpp "$text"
done
expect clean src/worker/a.cpp 'void f() { x.close(); y->read(1); os::poll(1); p.raise(q); io::write(fd, b, n); }'
expect clean src/worker/a.cpp 'void channel::close() { m_closed = true; } bool t::send(int); // sched_yield() there'
expect clean src/worker/a.cpp 'const char* text = "fork() failed"; scope_access::raise(a, b); file.write(b);'
expect clean src/worker/a.cpp 'os::sysconf(1); a.mmap(2); b->fork(); using fork_t = int;'
expect clean src/worker/a.cpp '#include "worker/loop.hpp"'
expect clean src/worker/a.cpp '#include "base/os.hpp"'
expect clean src/worker/a.cpp '#include <pilfer/detail/worker/hot.hpp>'
expect clean src/worker/a.cpp '// Not std::condition_variable: it loses signals. Nor usleep().'
expect clean src/worker/a.cpp '/* std::binary_semaphore
   using std:: */ int x = 1'"'"'000;'
expect clean src/sync/a.cpp 'condition_variable cv; void f() { cv.wait(lock); cv.notify_one(); sleep_for(1ms); }'
expect clean src/worker/a.cpp 'std::atomic<state*> m_state; void f() { m_state.load(std::memory_order_acquire)->wait(); }'
expect clean src/worker/a.cpp 'const char* what = "std::condition_variable is not used";'
for text in 'int start(void);' 'struct pool;' 'typedef struct pilfer_a a;' 'typedef int (*callback)(int);' \
    '#define START 1' 'enum { PILFER_A, B };' 'struct future *pilfer_a(void);' 'void future_free(struct pilfer_a *);' \
    'int pilfer_a(int), b(int);'; do
    expect found include/pilfer/a.h "$text"
done
expect found include/pilfer/threadpool.h 'struct pool;'
expect clean include/pilfer/threadpool.h 'struct future; void *future_get(struct future *);'
expect clean include/pilfer/a.h '/* struct a; */ typedef struct pilfer_a { int b; union { int c; } d; } pilfer_a;
enum pilfer_e { PILFER_A = -1, PILFER_B };
int pilfer_f(pilfer_a *a, int (*body)(int, void *), void *arg);
#ifdef __cplusplus
extern "C" {
#endif'

((wrong == 0)) && echo "the check finds what it should"
exit "$wrong"
