// Functions that have a name while they run.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pilfer/detail/base/platform.hpp>
#include <pilfer/detail/context/context.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

struct named_object;

/// Null becomes the empty name, which is not valid.
[[nodiscard]] constexpr std::string_view name_or_none(const char* name) noexcept {
    return name != nullptr ? std::string_view(name) : std::string_view();
}

/// Returns a copy of the name. Throws std::invalid_argument if it is not valid.
[[nodiscard]] PILFER_API std::string checked_name(std::string_view name);

/// In the frame of a function with a name: while it lives, everything that runs on this stack has this name.
/// No effect outside of pools. A frame never leaves its stack, so the record at the top of the stack keeps
/// the name, whatever thread resumes the frame.
class PILFER_API name_frame {
public:
    explicit name_frame(const char* name) noexcept;
    name_frame(const name_frame&) = delete;
    name_frame& operator=(const name_frame&) = delete;
    ~name_frame();

private:
    context* m_context;
    const char* m_outer = nullptr;
};

/// A function with its name.
template <class F>
class named_function {
public:
    template <class G>
    named_function(std::string name, G&& g) : m_name(std::move(name)), m_function(std::forward<G>(g)) {}

    template <class... A>
    decltype(auto) operator()(A&&... arguments) requires std::invocable<F&, A...> {
        const name_frame here(m_name.c_str());
        return std::invoke(m_function, std::forward<A>(arguments)...);
    }
    /// As operator(), but if f throws: calls `failed()` in the catch block, while the name is still set, and
    /// returns `otherwise`.
    template <class R, class Failed, class... A>
    R call_or(R otherwise, Failed failed, A&&... arguments) noexcept {
        const name_frame here(m_name.c_str());
        PILFER_TRY {
            if constexpr (std::same_as<std::invoke_result_t<F&, A...>, R>) {
                return std::invoke(m_function, std::forward<A>(arguments)...);
            } else {
                std::invoke(m_function, std::forward<A>(arguments)...);
            }
        }
        PILFER_CATCH_ALL { failed(); }
        return otherwise;
    }

private:
    std::string m_name;
    F m_function;
};

template <class F>
inline constexpr bool is_named = false;
template <class F>
inline constexpr bool is_named<named_function<F>> = true;

} // namespace detail
} // namespace v0
} // namespace pilfer
