// Texts of exceptions, and names of functions.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace pilfer {
inline namespace v0 {
namespace detail {

[[nodiscard]] inline std::string text_of_exception(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    } catch (...) {
        return "something that is no std::exception";
    }
}

/// True if a demangled name is of this library, or of C++'s: "void pilfer::scope::sync()", and not
/// "f(pilfer::mutex&)".
[[nodiscard]] inline bool is_of_library(std::string_view function) noexcept {
    constexpr std::string_view returns = "decltype(auto) ";
    if (function.starts_with(returns)) {
        function.remove_prefix(returns.size());
    }
    const std::string_view name = function.substr(0, function.find_first_of("(<"));
    const std::size_t space = name.rfind(' ');
    const std::string_view qualified = space == std::string_view::npos ? name : name.substr(space + 1);
    return qualified.starts_with("pilfer::") || qualified.starts_with("pilfer_v0_") ||
           qualified.starts_with("std::") || qualified.starts_with("__gnu_cxx::");
}

} // namespace detail
} // namespace v0
} // namespace pilfer
