// A task graph read from its file, with work and span computed from that alone.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace support {

struct graph_file {
    struct word {
        char sign; // '\0': a strand
        std::uint64_t n;
    };
    std::map<std::uint64_t, std::vector<word>> tasks;
    std::vector<std::string> functions;
    std::uint64_t end = 0;

    explicit graph_file(const std::string& text) {
        std::istringstream in(text);
        std::string row;
        std::getline(in, row);
        EXPECT_EQ(row, "pilfer-graph 3");
        while (std::getline(in, row)) {
            if (row.starts_with('#')) {
                continue;
            }
            if (row.starts_with("end ")) {
                end = std::stoull(row.substr(4));
                EXPECT_FALSE(std::getline(in, row)) << "nothing follows the end";
                return;
            }
            if (row.starts_with("line ") || row.starts_with("lock ")) {
                continue;
            }
            if (row.starts_with("function ")) {
                functions.push_back(row);
                continue;
            }
            std::istringstream words(row);
            std::uint64_t number = 0;
            words >> number;
            EXPECT_FALSE(tasks.contains(number)) << number;
            auto& all = tasks[number];
            for (std::string w; words >> w;) {
                const bool sign = w[0] < '0' || w[0] > '9';
                if (w[0] == '@') {
                    EXPECT_TRUE(all.empty()) << "the function is the first word";
                    continue;
                }
                if (w[0] == ':') {
                    continue; // a place
                }
                all.push_back({sign ? w[0] : '\0', std::stoull(w.substr(sign ? 1 : 0))});
            }
        }
        ADD_FAILURE() << "no end";
    }

    [[nodiscard]] std::uint64_t work() const {
        std::uint64_t sum = 0;
        for (const auto& [number, words] : tasks) {
            for (const word& w : words) {
                sum += w.sign == '\0' ? w.n : 0;
            }
        }
        return sum;
    }

    /// Runs the tasks as far as they can go, again and again, until none can.
    [[nodiscard]] std::uint64_t span() const {
        std::map<std::uint64_t, std::uint64_t> path{{0, 0}};
        std::map<std::uint64_t, std::size_t> at;
        std::map<std::uint64_t, std::uint64_t> ended;
        std::uint64_t longest = 0;
        for (bool moved = true; moved;) {
            moved = false;
            for (const auto& [number, words] : tasks) {
                if (!path.contains(number) || ended.contains(number)) {
                    continue;
                }
                std::size_t& i = at[number];
                for (; i < words.size(); ++i) {
                    const word& w = words[i];
                    if (w.sign == '-' && !ended.contains(w.n)) {
                        break;
                    }
                    moved = true;
                    if (w.sign == '-') {
                        path[number] = std::max(path[number], ended[w.n]);
                    } else if (w.sign == '\0') {
                        path[number] += w.n;
                    } else if (w.sign == '(' || w.sign == ')') {
                        continue; // a lock: the graph of one worker knows no wait for it
                    } else {
                        EXPECT_TRUE(w.sign == '+' || w.sign == '>') << w.sign;
                        EXPECT_FALSE(path.contains(w.n)) << w.n << " is forked twice";
                        path[w.n] = path[number];
                    }
                }
                if (i == words.size()) {
                    moved = true;
                    ended[number] = path[number];
                    longest = std::max(longest, path[number]);
                }
            }
        }
        EXPECT_EQ(ended.size(), tasks.size()) << "every task ends";
        return longest;
    }
};

} // namespace support
