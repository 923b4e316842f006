// The algorithms: a small evaluation of temperatures, each step in parallel.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include <pilfer/algorithm.hpp>

namespace {

struct reading {
    int day;
    std::string place;
    double degrees;
};

std::vector<reading> readings() {
    const char* const places[] = {"harbour", "hill", "town"};
    std::vector<reading> all(3'000);
    pilfer::for_each_chunk(std::size_t{0}, all.size(), [&](std::size_t begin, std::size_t end) {
        for (; begin != end; ++begin) {
            const int i = static_cast<int>(begin);
            all[begin] = {i / 3, places[i % 3], 10 + (i * 37 % 200) / 10.0 - i % 3};
        }
    });
    return all;
}

} // namespace

int main() {
    const std::vector<reading> all = readings();

    // Searches give the lowest index, whatever worker finds something first.
    const auto hot = pilfer::find_if(all, [](const reading& r) { return r.degrees > 29.05; });
    std::printf("the first hot reading: day %d, %s, %.1f degrees\n", hot->day, hot->place.c_str(),
                hot->degrees);
    const auto [coldest, hottest] = pilfer::minmax_element(all, {}, &reading::degrees);
    std::printf("between %.1f and %.1f degrees\n", coldest->degrees, hottest->degrees);

    // The sum has the same bits on every run and with any number of workers.
    const double sum = pilfer::reduce(all, 0.0, &reading::degrees, std::plus<>{});
    std::printf("mean: %.4f\n", sum / static_cast<double>(all.size()));

    // Every third reading is one of the harbour's.
    const double harbour = pilfer::reduce(pilfer::strided(all, 3), 0.0, &reading::degrees, std::plus<>{});
    std::printf("mean at the harbour: %.2f\n", harbour / static_cast<double>(all.size() / 3));

    // A running total, in place.
    std::vector<double> heating(all.size());
    pilfer::transform(all, heating.begin(),
                      [](const reading& r) { return r.degrees < 12 ? 12 - r.degrees : 0; });
    pilfer::inclusive_scan(heating, heating.begin());
    const auto used_up = pilfer::find_if(heating, [](double total) { return total > 500; });
    std::printf("500 degree days are used up at reading %td\n", used_up - heating.begin());

    // Selections keep the order.
    const auto frost = pilfer::filter(all, [](const reading& r) { return r.degrees < 8.25; });
    std::printf("%zu readings below 8.25 degrees, the first on day %d\n", frost.size(), frost.front().day);

    const auto classes =
        pilfer::histogram(all, 4, [](const reading& r) { return static_cast<int>(r.degrees) / 10; });
    for (std::size_t i = 0; i < classes.size(); ++i) {
        std::printf("%2zu to %2zu degrees: %llu\n", i * 10, i * 10 + 9,
                    static_cast<unsigned long long>(classes[i]));
    }

    // Keys come in the order in which they first appear.
    for (const auto& [place, degrees] : pilfer::group_by_key(all, &reading::place, &reading::degrees)) {
        std::printf("%s: %zu readings, at most %.1f\n", place.c_str(), degrees.size(),
                    *pilfer::max_element(degrees));
    }
}
