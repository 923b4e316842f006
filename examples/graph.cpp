// A graph of tasks that runs for each frame of a film. Values go along its edges. A condition repeats a part.
// A limit says how many tasks read from the disk at once.
#include <array>
#include <cstdio>
#include <sstream>
#include <string>

#include <pilfer/graph.hpp>

int main() {
    pilfer::pool pool;
    pilfer::graph film;
    int frame = 0;

    // Two tasks read; at most one of them at a time.
    pilfer::graph_limit disk(1);
    auto left = film.task([&] { return 10 * frame; });
    auto right = film.task([&] { return 10 * frame + 1; });
    left.limited_by(disk);
    right.limited_by(disk);

    // A task gets the values of its inputs.
    auto both = film.task([](int l, int r) { return std::array{l, r}; }, left, right);

    // A loop: the condition chooses the refinement again, or the end.
    int passes = 0;
    auto begin = film.task([&] { passes = 0; }, both.order_only());
    auto refine = film.task([&] { ++passes; }, begin);
    auto good = film.condition([&] { return passes < 3 ? 0 : 1; }, refine);
    auto show = film.task([&] { std::printf("frame %d: %d passes\n", frame, passes); });
    good.chooses(refine, show);

    both.name("both");
    for (frame = 1; frame <= 2; ++frame) {
        film.run(pool);
        std::printf("both: %d %d\n", both.value()[0], both.value()[1]);
    }

    // The first exception stops a run; the graph may be run again.
    bool broken = true;
    pilfer::graph checked;
    auto check = checked.task([&] {
        if (broken) {
            throw std::string("the disk is full");
        }
        return 5;
    });
    auto part = checked.subgraph(film, check.order_only()); // another graph as a task
    part.name("film");
    frame = 3;
    try {
        checked.run(pool);
    } catch (const std::string& error) {
        std::printf("stopped: %s\n", error.c_str());
    }
    broken = false;
    checked.run(pool);
    std::printf("check: %d\n", check.value());

    std::ostringstream drawing; // for Graphviz
    checked.dot(drawing);
    std::printf("%s\n", drawing.str().substr(0, 9).c_str());
}
