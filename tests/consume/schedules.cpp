// A test of schedules in another project: it finds an error, and the corrected program passes.
#include <pilfer/pilfer.hpp>
#include <pilfer/test.hpp>

#include <iostream>

int main() {
    const auto count = [](bool right) {
        pilfer::test::atomic<int> n{0};
        const auto add = [&] {
            if (right) {
                n += 1;
            } else {
                n = n + 1;
            }
        };
        (void)pilfer::join(add, add);
        pilfer::test::require(n == 2, "both additions count");
    };
    const auto wrong = pilfer::test::schedules(1'000, [&] { count(false); });
    const auto right = pilfer::test::schedules(1'000, [&] { count(true); });
    if (wrong || !right) {
        std::cout << wrong << right;
        return 1;
    }
    return 0;
}
