// Programs beside this one.
#pragma once

#include <string>

namespace tools {

/// The path of a program that belongs to this one: in its own folder (as built) or in libexec (as installed).
[[nodiscard]] std::string beside(std::string const& name);

} // namespace tools
