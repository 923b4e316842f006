// Races between the children of a scope, and with their parent.
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cases.hpp"

using cases::keep;
using pilfer::scope;

PLANTED(loop_variable, "a loop variable that is captured by reference") {
    std::vector<int> v(5);
    scope all;
    for (int i = 0; i < 4; ++i) {                 // races
        all.fork([&] { v[std::size_t(i)] = 1; }); // races
    }
    all.sync();
    keep(v);
}
REPAIRED(loop_variable) {
    std::vector<int> v(5);
    scope all;
    for (int i = 0; i < 4; ++i) {
        all.fork([&v, i] { v[std::size_t(i)] = 1; });
    }
    all.sync();
    keep(v);
}

PLANTED(read_before_sync, "a result that is read before sync()") {
    int x = 0;
    scope all;
    all.spawn([&] { x = 1; }); // races
    const int seen = x;        // races
    all.sync();
    keep(seen);
}
REPAIRED(read_before_sync) {
    int x = 0;
    scope all;
    all.spawn([&] { x = 1; });
    all.sync();
    const int seen = x;
    keep(seen);
}

PLANTED(sync_of_another_scope, "two scopes, and sync() of the other one") {
    int x = 0;
    scope first;
    first.fork([&] { x = 1; }); // races
    {
        scope second;
        second.fork([] {});
        second.sync();
    }
    x += 1; // races
    first.sync();
    keep(x);
}
REPAIRED(sync_of_another_scope) {
    int x = 0;
    scope first;
    first.fork([&] { x = 1; });
    {
        scope second;
        second.fork([] {});
        second.sync();
    }
    first.sync();
    x += 1;
    keep(x);
}

PLANTED(stop_flag, "a plain bool as a flag to stop") {
    bool stop = false;
    scope all;
    all.fork([&] {
        if (!stop) { // races
            keep(stop);
        }
    });
    stop = true; // races
    all.sync();
}
REPAIRED(stop_flag) {
    std::atomic<bool> stop{false};
    scope all;
    all.fork([&] {
        if (!stop.load()) {
            keep(stop);
        }
    });
    stop.store(true);
    all.sync();
}

namespace {

void count_word(std::map<std::string, int>& words, const char* word) {
    ++words[word]; // races
}

} // namespace

PLANTED(shared_map, "children that insert into one map") {
    std::map<std::string, int> words;
    scope all;
    for (const char* word : {"one", "two", "one"}) {
        all.fork([&words, word] { count_word(words, word); });
    }
    all.sync();
}
REPAIRED(shared_map) {
    std::map<std::string, int> words;
    pilfer::mutex lock;
    scope all;
    for (const char* word : {"one", "two", "one"}) {
        all.fork([&, word] {
            const std::lock_guard hold(lock);
            count_word(words, word);
        });
    }
    all.sync();
}

namespace {

struct table {
    std::unique_ptr<int> made;
    int get() {
        if (made == nullptr) {               // races
            made = std::make_unique<int>(7); // races
        }
        return *made; // races
    }
};

} // namespace

PLANTED(lazy_initialisation, "an object that its first user makes") {
    table t;
    scope all;
    all.spawn([&] { keep(t.get()); });
    all.spawn([&] { keep(t.get()); });
    all.sync();
}
REPAIRED(lazy_initialisation) {
    table t;
    (void)t.get();
    scope all;
    all.spawn([&] { keep(t.get()); });
    all.spawn([&] { keep(t.get()); });
    all.sync();
}

namespace {

class distance_cache {
public:
    int from(int x) const {
        if (m_key != x) {    // races
            m_key = x;       // races
            m_value = x * x; // races
        }
        return m_value; // races
    }
    static int plain(int x) { return x * x; }

private:
    mutable int m_key = -1;
    mutable int m_value = 0;
};

} // namespace

PLANTED(mutable_cache, "a const function with a mutable cache") {
    const distance_cache cache;
    scope all;
    all.fork([&] { keep(cache.from(1)); });
    all.fork([&] { keep(cache.from(2)); });
    all.sync();
}
REPAIRED(mutable_cache) {
    scope all;
    all.fork([&] { keep(distance_cache::plain(1)); });
    all.fork([&] { keep(distance_cache::plain(2)); });
    all.sync();
}

PLANTED(progress, "a counter of progress") {
    int done = 0;
    scope all;
    for (int i = 0; i < 3; ++i) {
        all.fork([&] { ++done; }); // races
    }
    all.sync();
    keep(done);
}
REPAIRED(progress) {
    std::atomic<int> done{0};
    scope all;
    for (int i = 0; i < 3; ++i) {
        all.fork([&] { ++done; });
    }
    all.sync();
    keep(done);
}

namespace {

struct settings {
    int level = 0;
};

} // namespace

PLANTED(shared_pointer, "copies of a shared_ptr, and one object") {
    const auto all_settings = std::make_shared<settings>();
    scope all;
    for (int i = 0; i < 2; ++i) {
        all.fork([all_settings, i] { all_settings->level = i; }); // races
    }
    all.sync();
}
REPAIRED(shared_pointer) {
    scope all;
    for (int i = 0; i < 2; ++i) {
        all.fork([i] {
            const auto own = std::make_shared<settings>();
            own->level = i;
        });
    }
    all.sync();
}

PLANTED(resized_meanwhile, "a vector that grows while a child reads it") {
    // clang++ before 21 leaves out members of local objects (LLVM issue 132739).
    const auto on_heap = std::make_unique<std::vector<int>>(4, 1);
    std::vector<int>& v = *on_heap;
    v.reserve(8);
    int seen = 0;
    scope all;
    all.spawn([&] { seen = v.back(); }); // races
    v.push_back(2);                      // races
    all.sync();
    keep(seen);
}
REPAIRED(resized_meanwhile) {
    std::vector<int> v(4, 1);
    v.reserve(8);
    int seen = 0;
    v.push_back(2);
    scope all;
    all.spawn([&] { seen = v.back(); });
    all.sync();
    keep(seen);
}

PLANTED(wrong_slot, "a slot for each child, computed modulo too small a number") {
    std::vector<int> slot(4);
    scope all;
    for (unsigned i = 0; i < 8; ++i) {
        all.fork([&slot, i] { slot[i % 4] = int(i); }); // races
    }
    all.sync();
    keep(slot);
}
REPAIRED(wrong_slot) {
    std::vector<int> slot(8);
    scope all;
    for (unsigned i = 0; i < 8; ++i) {
        all.fork([&slot, i] { slot[i] = int(i); });
    }
    all.sync();
    keep(slot);
}

namespace {

void copy_rows(std::vector<char>& to, const std::vector<char>& from, std::size_t first, std::size_t rows) {
    std::memcpy(to.data() + first * 16, from.data() + first * 16, rows * 16); // races
}

} // namespace

PLANTED(rows_with_halo, "blocks of rows that are copied with one row too many") {
    std::vector<char> from(160, 'x');
    std::vector<char> to(160);
    scope all;
    all.fork([&] { copy_rows(to, from, 0, 6); });
    all.fork([&] { copy_rows(to, from, 5, 5); });
    all.sync();
    keep(to);
}
REPAIRED(rows_with_halo) {
    std::vector<char> from(160, 'x');
    std::vector<char> to(160);
    scope all;
    all.fork([&] { copy_rows(to, from, 0, 5); });
    all.fork([&] { copy_rows(to, from, 5, 5); });
    all.sync();
    keep(to);
}

PLANTED(swapped_neighbours, "children that swap with their neighbour") {
    std::vector<int> v{4, 3, 2, 1};
    scope all;
    for (std::size_t i = 0; i + 1 < v.size(); ++i) {
        all.fork([&v, i] {
            const int old = v[i]; // races
            v[i] = v[i + 1];      // races
            v[i + 1] = old;       // races
        });
    }
    all.sync();
    keep(v);
}
REPAIRED(swapped_neighbours) {
    std::vector<int> v{4, 3, 2, 1};
    scope all;
    for (std::size_t i = 0; i + 1 < v.size(); i += 2) {
        all.fork([&v, i] {
            const int old = v[i];
            v[i] = v[i + 1];
            v[i + 1] = old;
        });
    }
    all.sync();
    keep(v);
}

namespace {

struct shape {
    virtual ~shape() = default;
    virtual double area() const = 0;
};
int calls_of_area = 0;
struct square : shape {
    double side = 2;
    double area() const override {
        ++calls_of_area; // races
        return side * side;
    }
};
struct quiet_square : shape {
    double side = 2;
    double area() const override { return side * side; }
};

template <class Shape>
double areas() {
    const Shape a;
    const Shape b;
    double of_a = 0;
    double of_b = 0;
    const shape* const pa = &a;
    const shape* const pb = &b;
    scope all;
    all.spawn([&] { of_a = pa->area(); });
    all.spawn([&] { of_b = pb->area(); });
    all.sync();
    return of_a + of_b;
}

} // namespace

PLANTED(counter_in_virtual, "statistics deep inside a virtual function") { keep(areas<square>()); }
REPAIRED(counter_in_virtual) { keep(areas<quiet_square>()); }
