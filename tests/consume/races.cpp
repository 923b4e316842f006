// Two functions of a join write one variable: with pilfer::race the program reports it and ends with 66.
#include <pilfer/pilfer.hpp>

#include <cstdio>

int main() {
    pilfer::pool pool;
    const int sum = pool.run([] {
        int x = 0;
        pilfer::join([&] { ++x; }, [&] { ++x; }); // the race
        return x;
    });
    std::printf("%d\n", sum);
}
