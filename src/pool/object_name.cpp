// The handle of an object's name.
#include <pilfer/named.hpp>

#include "names/object_names.hpp"

namespace pilfer {
inline namespace v0 {

object_name::object_name(const volatile void* object, std::size_t bytes, std::string_view name)
    : m_name(detail::object_names::add(const_cast<const void*>(object), bytes, detail::checked_name(name),
                                       false)) {}

void object_name::end() noexcept { detail::object_names::remove(m_name); }

} // namespace v0
} // namespace pilfer
