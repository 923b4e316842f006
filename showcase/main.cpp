// Exit codes: 0 all results are equal, 1 a run failed or its result differs, 2 the options or the folders are
// wrong.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <variant>

#include "child.hpp"
#include "numbers.hpp"
#include "settings.hpp"
#include "showcase.hpp"

int main(int count, char** words) {
    if (count > 1 && std::string_view(words[1]) == "--child")
        return showcase::child_main({words + 2, words + count});
    try {
        auto const read = showcase::read_settings(count, words);
        if (int const* const code = std::get_if<int>(&read))
            return *code;
        auto const& chosen = std::get<showcase::settings>(read);
        showcase::report const all = showcase::run_showcase(chosen);
        fmt::print("{}", showcase::as_table(all));
        showcase::save(all);
        fmt::print("\nThe page:    file://{0}/showcase.html\nThe figures: {0}/showcase.json\n",
                   showcase::printable(std::filesystem::absolute(chosen.out).lexically_normal().string()));
        return all.good() ? 0 : 1;
    } catch (std::system_error const& error) {
        fmt::print(stderr, "pilfer-showcase: {}\n", showcase::printable(error.what()));
        return showcase::exit_bad_usage;
    } catch (std::exception const& error) {
        fmt::print(stderr, "pilfer-showcase: {}\n", showcase::printable(error.what()));
        return 1;
    }
}
