#include "beside.hpp"

#include <filesystem>

namespace tools {

std::string beside(std::string const& name) {
    std::error_code error;
    auto const folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    auto const installed = (folder / PILFER_TOOL_LIBEXEC / "pilfer" / name).lexically_normal();
    return (std::filesystem::exists(installed, error) ? installed : folder / name).string();
}

} // namespace tools
