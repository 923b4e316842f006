// The four functions that parlaylib asks of a scheduler. With parlaylib on the include path all of it
// follows.
#include <cstddef>
#include <cstdio>
#include <vector>

#include <pilfer/adapters/parlay.hpp> // before parlaylib

int main() {
    std::vector<double> squares(1000);
    parlay::parallel_for(0, squares.size(), [&](std::size_t i) { squares[i] = double(i) * double(i); });

    double left = 0;
    double right = 0;
    const auto sum = [&](std::size_t first, std::size_t end) {
        double s = 0;
        for (; first != end; ++first) {
            s += squares[first];
        }
        return s;
    };
    parlay::par_do([&] { left = sum(0, 500); }, [&] { right = sum(500, 1000); });
    std::printf("sum of squares: %.0f\n", left + right);
    return parlay::worker_id() < parlay::num_workers() ? 0 : 1;
}
