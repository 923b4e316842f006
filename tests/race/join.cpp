// Races between the functions of a join.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cases.hpp"

using cases::keep;
using pilfer::join;

namespace {

int leaves = 0;

void count_leaves(int depth) {
    if (depth == 0) {
        ++leaves; // races
        return;
    }
    join([=] { count_leaves(depth - 1); }, [=] { count_leaves(depth - 1); });
}
int leaves_of(int depth) {
    if (depth == 0) {
        return 1;
    }
    auto [a, b] = join([=] { return leaves_of(depth - 1); }, [=] { return leaves_of(depth - 1); });
    return a + b;
}

} // namespace

PLANTED(counter_in_recursion, "a global counter in a recursion") {
    count_leaves(4);
    keep(leaves);
}
REPAIRED(counter_in_recursion) { keep(leaves_of(4)); }

namespace {

void longest(const std::vector<int>& v, std::size_t from, std::size_t to, int& best) {
    if (to - from == 1) {
        if (v[from] > best) { // races
            best = v[from];   // races
        }
        return;
    }
    const std::size_t middle = (from + to) / 2;
    join([&] { longest(v, from, middle, best); }, [&] { longest(v, middle, to, best); });
}
int longest(const std::vector<int>& v, std::size_t from, std::size_t to) {
    if (to - from == 1) {
        return v[from];
    }
    const std::size_t middle = (from + to) / 2;
    auto [a, b] = join([&] { return longest(v, from, middle); }, [&] { return longest(v, middle, to); });
    return std::max(a, b);
}

} // namespace

PLANTED(best_by_reference, "branch and bound with an unguarded best value") {
    const std::vector<int> v{3, 1, 4, 1, 5, 9, 2, 6};
    int best = 0;
    longest(v, 0, v.size(), best);
    keep(best);
}
REPAIRED(best_by_reference) {
    const std::vector<int> v{3, 1, 4, 1, 5, 9, 2, 6};
    keep(longest(v, 0, v.size()));
}

namespace {

void halve(std::vector<double>& v, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
        v[i] /= 2; // races
    }
}

} // namespace

PLANTED(overlapping_halves, "two halves that share their border") {
    std::vector<double> v(10, 1);
    join([&] { halve(v, 0, 6); }, [&] { halve(v, 5, 10); });
    keep(v[0]);
}
REPAIRED(overlapping_halves) {
    std::vector<double> v(10, 1);
    join([&] { halve(v, 0, 5); }, [&] { halve(v, 5, 10); });
    keep(v[0]);
}

namespace {

int sum_squares(const std::vector<int>& v, std::vector<int>& scratch) {
    for (std::size_t i = 0; i < v.size(); ++i) {
        scratch[i] = v[i] * v[i]; // races
    }
    int sum = 0;
    for (const int x : scratch) {
        sum += x; // races
    }
    return sum;
}

} // namespace

PLANTED(shared_scratch, "one buffer for two computations") {
    const std::vector<int> a(8, 1);
    const std::vector<int> b(8, 2);
    std::vector<int> scratch(8);
    join([&] { return sum_squares(a, scratch); }, [&] { return sum_squares(b, scratch); });
}
REPAIRED(shared_scratch) {
    const std::vector<int> a(8, 1);
    const std::vector<int> b(8, 2);
    std::vector<int> scratch(8);
    std::vector<int> other(8);
    join([&] { return sum_squares(a, scratch); }, [&] { return sum_squares(b, other); });
}

PLANTED(push_back_from_both, "a vector that two branches append to") {
    std::vector<int> out;
    out.reserve(8);
    join([&] { out.push_back(1); },  // races
         [&] { out.push_back(2); }); // races
    keep(out);
}
REPAIRED(push_back_from_both) {
    std::vector<int> out(2);
    join([&] { out[0] = 1; }, [&] { out[1] = 2; });
    keep(out);
}

PLANTED(result_used_early, "a branch that relies on the order of the source") {
    int parsed = 0;
    int doubled = 0;
    join([&] { parsed = 21; },           // races
         [&] { doubled = parsed * 2; }); // races
    keep(doubled);
}
REPAIRED(result_used_early) {
    int parsed = 0;
    join([&] { parsed = 21; }, [] {});
    const int doubled = parsed * 2;
    keep(doubled);
}

namespace {

long memo[32];

long fib_memo(int n) {
    if (n < 2) {
        return n;
    }
    if (memo[n] == 0) { // races
        auto [a, b] = join([=] { return fib_memo(n - 1); }, [=] { return fib_memo(n - 2); });
        memo[n] = a + b; // races
    }
    return memo[n]; // races
}
long guarded_memo[32];
pilfer::mutex memo_lock;

long fib_guarded(int n) {
    if (n < 2) {
        return n;
    }
    {
        const std::lock_guard hold(memo_lock);
        if (guarded_memo[n] != 0) {
            return guarded_memo[n];
        }
    }
    auto [a, b] = join([=] { return fib_guarded(n - 1); }, [=] { return fib_guarded(n - 2); });
    const std::lock_guard hold(memo_lock);
    return guarded_memo[n] = a + b;
}

} // namespace

PLANTED(memo_table, "memoisation in a shared table") { keep(fib_memo(8)); }
REPAIRED(memo_table) { keep(fib_guarded(8)); }

PLANTED(log_string, "two branches that write to one log") {
    std::string log(40, ' ');
    log.clear();
    join([&] { log += "left"; },   // races
         [&] { log += "right"; }); // races
    keep(log);
}
REPAIRED(log_string) {
    std::string left;
    std::string right;
    join([&] { left += "left"; }, [&] { right += "right"; });
    keep(left + right);
}

PLANTED(vector_of_bool, "two elements of vector<bool> share a word") {
    std::vector<bool> done(8);
    join([&] { done[0] = true; },  // races
         [&] { done[1] = true; }); // races
    keep(done);
}
REPAIRED(vector_of_bool) {
    std::vector<char> done(8);
    join([&] { done[0] = 1; }, [&] { done[1] = 1; });
    keep(done);
}

namespace {

struct node {
    node* left = nullptr;
    node* right = nullptr;
    node* parent = nullptr;
    int height = 0;
};

void raise_parents(node* n) {
    if (n == nullptr) {
        return;
    }
    join([=] { raise_parents(n->left); }, [=] { raise_parents(n->right); });
    if (n->parent != nullptr) {
        n->parent->height = std::max(n->parent->height, n->height + 1); // races
    }
}
int height_of(node* n) {
    if (n == nullptr) {
        return -1;
    }
    auto [a, b] = join([=] { return height_of(n->left); }, [=] { return height_of(n->right); });
    return n->height = std::max(a, b) + 1;
}
struct small_tree {
    node root, left, right;
    small_tree() {
        root.left = &left;
        root.right = &right;
        left.parent = right.parent = &root;
    }
};

} // namespace

PLANTED(height_in_parent, "children that update their parent's node") {
    small_tree t;
    raise_parents(&t.root);
    keep(t);
}
REPAIRED(height_in_parent) {
    small_tree t;
    height_of(&t.root);
    keep(t);
}

namespace {

unsigned next_random(unsigned& state) {
    state = state * 1'664'525U + 1'013'904'223U; // races
    return state;                                // races
}

} // namespace

PLANTED(shared_random, "one generator of random numbers for two branches") {
    unsigned state = 1;
    join([&] { return next_random(state); }, [&] { return next_random(state); });
}
REPAIRED(shared_random) {
    unsigned one = 1;
    unsigned two = 2;
    join([&] { return next_random(one); }, [&] { return next_random(two); });
}

namespace {

struct sets {
    int parent[6] = {0, 0, 1, 2, 3, 4};

    int find(int x) {
        while (parent[x] != x) {           // races
            parent[x] = parent[parent[x]]; // races
            x = parent[x];                 // races
        }
        return x;
    }
    [[nodiscard]] int look(int x) const {
        while (parent[x] != x) {
            x = parent[x];
        }
        return x;
    }
};

} // namespace

PLANTED(path_compression, "a look-up that writes: union-find") {
    sets s;
    join([&] { return s.find(5); }, [&] { return s.find(4); });
}
REPAIRED(path_compression) {
    sets s;
    join([&] { return s.look(5); }, [&] { return s.look(4); });
}
