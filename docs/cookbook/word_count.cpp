// Count words in parallel
//
// Each loop body counts into a table that it leases from a `worker_local`. No lock and no atomic counter is
// needed, because no other task uses a leased table. At the end `combine` adds the tables up.
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

using table = std::map<std::string, long>;

int main() {
    const std::vector<std::string> lines(1000, "the cat and the dog and the bird");
    pilfer::pool pool;
    pilfer::worker_local<table> tables;

    pool.run([&] {
        pilfer::for_each(std::size_t{0}, lines.size(), [&](std::size_t i) {
            const auto mine = tables.lease();
            std::istringstream words(lines[i]);
            for (std::string word; words >> word;) {
                ++(*mine)[word];
            }
        });
    });

    const table all = tables.combine([](table sum, const table& more) {
        for (const auto& [word, count] : more) {
            sum[word] += count;
        }
        return sum;
    });
    for (const auto& [word, count] : all) {
        std::printf("%s: %ld\n", word.c_str(), count);
    }
}
