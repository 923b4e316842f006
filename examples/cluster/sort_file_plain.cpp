// Sorts a file by merging, on one machine: see sort_file.cpp.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

#include <pilfer/pilfer.hpp>

using number = std::uint32_t;

void check(const std::ios& file, const std::string& name) {
    if (!file) {
        throw std::runtime_error(name + " cannot be read or written");
    }
}

/// The numbers of a file, one after the other.
struct reader {
    explicit reader(const std::string& name) : file(name, std::ios::binary) {
        check(file, name);
        next();
    }
    void next() { file.read(reinterpret_cast<char*>(&value), sizeof value); }
    explicit operator bool() const { return static_cast<bool>(file); }
    std::ifstream file;
    number value = 0;
};

void write(std::ofstream& file, const number* numbers, std::size_t n) {
    file.write(reinterpret_cast<const char*>(numbers), static_cast<std::streamsize>(n * sizeof(number)));
}

struct sort_part {
    std::string input, output;
    std::uint64_t first, count;

    std::uint64_t operator()() const { // how many numbers are in `output`
        if (count <= 50'000) {
            sort_here();
            return count;
        }
        const std::uint64_t half = count / 2;
        auto [a, b] = pilfer::join(sort_part{input, output + "a", first, half},
                                   sort_part{input, output + "b", first + half, count - half});
        merge();
        return a + b;
    }
    void sort_here() const {
        std::vector<number> numbers(count);
        std::ifstream in(input, std::ios::binary);
        in.seekg(static_cast<std::streamoff>(first * sizeof(number)));
        in.read(reinterpret_cast<char*>(numbers.data()),
                static_cast<std::streamsize>(count * sizeof(number)));
        check(in, input);
        std::sort(numbers.begin(), numbers.end());
        std::ofstream out(output, std::ios::binary);
        write(out, numbers.data(), numbers.size());
        out.close();
        check(out, output);
    }
    void merge() const {
        {
            reader a(output + "a");
            reader b(output + "b");
            std::ofstream out(output, std::ios::binary);
            while (a || b) {
                reader& smaller = a && (!b || a.value <= b.value) ? a : b;
                write(out, &smaller.value, 1);
                smaller.next();
            }
            out.close();
            check(out, output);
        }
        std::filesystem::remove(output + "a");
        std::filesystem::remove(output + "b");
    }
};

void make_input(const std::string& name, std::uint64_t count) {
    std::ofstream out(name, std::ios::binary);
    number x = 1;
    for (std::uint64_t i = 0; i < count; ++i) {
        x = x * 1664525 + 1013904223;
        write(out, &x, 1);
    }
    out.close();
    check(out, name);
}

/// "sorted" and the sum of all numbers, which does not depend on their order.
void describe(const char* what, const std::string& name) {
    std::uint64_t sum = 0;
    number before = 0;
    bool sorted = true;
    for (reader r(name); r; r.next()) {
        sum += r.value;
        sorted = sorted && before <= r.value;
        before = r.value;
    }
    std::printf("%s: %s, sum %llu\n", what, sorted ? "sorted" : "not sorted",
                static_cast<unsigned long long>(sum));
}

int main(int argc, char** argv) {
    pilfer::pool pool;
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400'000;
    const std::string folder = argc > 2 ? argv[2] : std::filesystem::temp_directory_path().string();
    const std::string name = folder + "/pilfer-sort-" + std::to_string(getpid());
    make_input(name, count);
    const std::uint64_t sorted = pool.run(sort_part{name, name + "-sorted", 0, count});
    std::printf("%llu numbers\n", static_cast<unsigned long long>(sorted));
    describe("before", name);
    describe("after", name + "-sorted");
    std::filesystem::remove(name);
    std::filesystem::remove(name + "-sorted");
}
