// The first solution ends the search. n queens: the first task inside the scope that finds one exits with it,
// and all others leave.
#include <cstdio>
#include <vector>

#include <pilfer/pilfer.hpp>

namespace {

using board = std::vector<int>;

bool fits(const board& b, int column) {
    const int row = static_cast<int>(b.size());
    for (int r = 0; r < row; ++r) {
        const int c = b[static_cast<std::size_t>(r)];
        if (c == column || c - column == row - r || column - c == row - r) {
            return false;
        }
    }
    return true;
}

void place(pilfer::first_result_scope<board>& first, const board& b, int n) {
    if (static_cast<int>(b.size()) == n) {
        (void)first.exit_value(b); // false: another one was faster
        return;
    }
    pilfer::scope rows;
    for (int column = 0; column < n; ++column) {
        if (fits(b, column)) {
            rows.spawn([&first, b, column, n] {
                board next = b;
                next.push_back(column);
                place(first, next, n);
            });
        }
    }
    rows.sync(); // throws pilfer::stopped once there is a solution
}

bool right(const board& b) {
    board so_far;
    for (const int column : b) {
        if (!fits(so_far, column)) {
            return false;
        }
        so_far.push_back(column);
    }
    return true;
}

} // namespace

int main() {
    pilfer::pool pool;
    pool.run([] {
        pilfer::first_result_scope<board> first;
        first.spawn([&first] { place(first, {}, 12); });
        const auto found = first.sync();
        std::printf("12 queens: %s\n", found && found->size() == 12 && right(*found) ? "a solution" : "none");
    });
}
