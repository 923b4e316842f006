// Exceptions from many tasks
//
// The first exception cancels the siblings and leaves `sync` with its own type. A program that wants every
// error keeps each one with its input instead.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

int parse(const std::string& text) {
    if (text.empty() || text[0] == '?') {
        throw std::invalid_argument("not a number: '" + text + "'");
    }
    return std::stoi(text);
}

int main() {
    const std::vector<std::string> inputs{"1", "2", "?", "4", "", "6"};
    pilfer::pool pool;

    // The first error ends the whole.
    try {
        pool.run([&] {
            pilfer::for_each(inputs.begin(), inputs.end(), [](const std::string& s) { (void)parse(s); });
        });
    } catch (const std::invalid_argument&) {
        std::puts("at least one input is wrong");
    }

    // All errors, in the order of the inputs.
    std::vector<std::string> errors(inputs.size());
    std::vector<int> numbers(inputs.size());
    pool.run([&] {
        pilfer::for_each(std::size_t{0}, inputs.size(), [&](std::size_t i) {
            try {
                numbers[i] = parse(inputs[i]);
            } catch (const std::invalid_argument& e) {
                errors[i] = e.what();
            }
        });
    });
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::printf("%s\n", errors[i].empty() ? std::to_string(numbers[i]).c_str() : errors[i].c_str());
    }
}
