#include "commands.hpp"
namespace tools {
void add_selftest(CLI::App&, int&) {}
} // namespace tools
