// Producer and consumer with time-outs
//
// A `channel` carries values in order and holds at most a given number of them. The consumer does something
// else if nothing arrives in time. A receive from a channel that is closed and empty returns nothing.
#include <chrono>
#include <cstdio>

#include <pilfer/pilfer.hpp>

using namespace std::chrono_literals;

int main() {
    pilfer::pool pool;
    pilfer::channel<int> values(4); // at most four values wait in it

    auto consumer = pool.async([&] {
        long sum = 0;
        for (;;) {
            if (const auto value = values.try_receive_for(2ms)) {
                sum += *value;
            } else if (values.closed() && values.size() == 0) {
                return sum;
            } else {
                // Nothing arrived in time: do something else here.
            }
        }
    });
    for (int i = 1; i <= 100; ++i) {
        if (i == 50) {
            pilfer::sleep_for(10ms); // a pause that is longer than the consumer's patience
        }
        while (!values.try_send_for(i, 1ms)) {
            // No room in time: do something else here.
        }
    }
    values.close();
    std::printf("sum: %ld\n", consumer.get());
}
