// A pipeline that compresses blocks: it reads them one by one, packs several of them at once, and writes them
// in their order.
#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <pilfer/pilfer.hpp>

namespace {

/// Runs of equal characters become a number and the character.
std::string packed(std::string_view block) {
    std::string out;
    for (std::size_t i = 0; i < block.size();) {
        std::size_t end = i;
        while (end < block.size() && block[end] == block[i]) {
            ++end;
        }
        out += std::to_string(end - i) + block[i];
        i = end;
    }
    return out;
}

} // namespace

int main() {
    const std::string input = "aaaabbbbccccccccddddddddddddeeeeeeeeffffgggg";
    constexpr std::size_t block = 8;
    constexpr std::size_t tokens = 4; // at most four blocks are in memory

    pilfer::pool pool;
    std::size_t at = 0;
    int number = 0;
    pilfer::pipeline(pool, tokens, pilfer::serial_in_order([&]() -> std::optional<std::string> {
                         if (at == input.size()) {
                             return std::nullopt;
                         }
                         const std::string next = input.substr(at, block);
                         at += next.size();
                         return next;
                     }),
                     pilfer::parallel_stage([](const std::string& b) { return packed(b); }),
                     pilfer::serial_in_order([&](const std::string& p) { // one at a time: no lock is needed
                         std::printf("block %d: %s\n", ++number, p.c_str());
                     }));

    int line = 0;
    try {
        pilfer::pipeline(pool, tokens,
                         pilfer::serial_in_order([&]() -> std::optional<int> { return ++line; }),
                         pilfer::parallel_stage([](int n) {
                             if (n == 100) {
                                 throw std::string("line 100 is bad");
                             }
                         }));
    } catch (const std::string& error) { // the source has ended, no stage is running
        std::puts(error.c_str());
    }
}
