// The page of `pilfer view`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace tools {

/// One HTML file that needs nothing else. `data` is what view.cpp makes; `heading` is the first line. Names
/// in it come from files, and are never read as HTML.
[[nodiscard]] std::string view_page(std::string const& heading, nlohmann::json const& data);

} // namespace tools
