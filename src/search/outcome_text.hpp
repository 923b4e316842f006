// Texts of exceptions.
#pragma once

#include <exception>
#include <string>

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

} // namespace detail
} // namespace v0
} // namespace pilfer
