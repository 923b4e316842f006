// A build graph
//
// Each target is a future. `when_all` becomes ready after all inputs of a target, and `then` starts the
// target's action as a task at that moment. No thread and no stack waits meanwhile.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include <pilfer/pilfer.hpp>

class graph {
public:
    explicit graph(pilfer::pool& pool) : m_pool(pool) {}

    /// Inputs have to be added before the targets that use them.
    void add(const std::string& target, const std::vector<std::string>& inputs) {
        std::vector<pilfer::future<int>> ready;
        for (const std::string& input : inputs) {
            ready.push_back(m_targets.at(input));
        }
        const auto action = [](const std::vector<pilfer::future<int>>& all) {
            int files = 1; // the file that this action writes
            for (const pilfer::future<int>& input : all) {
                files += input.get(); // throws if the input's action has failed
            }
            return files;
        };
        m_targets.emplace(target, pilfer::when_all(ready).then(m_pool, action));
    }
    [[nodiscard]] int build(const std::string& target) { return m_targets.at(target).get(); }

private:
    pilfer::pool& m_pool;
    std::map<std::string, pilfer::future<int>> m_targets;
};

int main() {
    pilfer::pool pool;
    graph g(pool);
    g.add("main.o", {});
    g.add("parse.o", {});
    g.add("libparse.a", {"parse.o"});
    g.add("program", {"main.o", "libparse.a"});
    std::printf("%d actions\n", g.build("program"));
}
