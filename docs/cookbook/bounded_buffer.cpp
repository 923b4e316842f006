// A bounded buffer
//
// A `monitor` is an object whose calls may wait for a state of it. The condition is written where the call
// is, and no code has to notify: each call that changes the object serves the calls whose condition has
// become true.
#include <cstdio>
#include <deque>

#include <pilfer/pilfer.hpp>

class bounded_buffer {
public:
    void put(int value) {
        m_values.call_when([](const std::deque<int>& v) { return v.size() < 3; },
                           [value](std::deque<int>& v) { v.push_back(value); });
    }
    [[nodiscard]] int get() {
        return m_values.call_when([](const std::deque<int>& v) { return !v.empty(); },
                                  [](std::deque<int>& v) {
                                      const int first = v.front();
                                      v.pop_front();
                                      return first;
                                  });
    }

private:
    pilfer::monitor<std::deque<int>> m_values;
};

int main() {
    pilfer::pool pool;
    bounded_buffer buffer;
    pool.run([&] {
        pilfer::scope both;
        both.fork([&] {
            for (int i = 1; i <= 1000; ++i) {
                buffer.put(i);
            }
        });
        long sum = 0;
        for (int i = 1; i <= 1000; ++i) {
            sum += buffer.get();
        }
        both.sync();
        std::printf("sum: %ld\n", sum);
    });
}
