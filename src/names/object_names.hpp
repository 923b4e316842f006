// Names of objects that tasks wait for, for reports. A program that gives none pays for none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <pilfer/detail/base/platform.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

/// One name. Debuggers and `pilfer top` follow `next` from pilfer_v0_object_names.first on.
struct named_object {
    named_object* next = nullptr;
    named_object* before = nullptr;
    const void* object = nullptr;
    std::size_t bytes = 0; ///< Of the object.
    const char* text = nullptr;
    std::string name;
    bool until_destroyed = false; ///< C: the object's destruction removes it.
    std::uint64_t table = 0; ///< A name of a table that a child of fork() has given up is in no other one.
};

struct object_name_list {
    named_object* first = nullptr;         ///< The newest.
    std::atomic<std::uint64_t> changes{0}; ///< Begins and ends of changes: odd while one is under way.
};

namespace object_names {

/// Throws std::bad_alloc.
[[nodiscard]] named_object* add(const void* object, std::size_t bytes, std::string name,
                                bool until_destroyed);
void remove(named_object* name) noexcept;
/// Removes the names of C of the object at that address, except `kept`. Cost without names: a load.
void forget(const void* object, const named_object* kept = nullptr) noexcept;

/// The name of the smallest named object that contains that address, and of equal ones the newest; empty:
/// none. Throws std::bad_alloc. Cost without names: a load.
[[nodiscard]] std::string of(const void* address);
/// As of(), cut after `size` - 1 bytes, with a zero behind it. False: none.
[[nodiscard]] bool copy(const void* address, char* to, std::size_t size) noexcept;

} // namespace object_names
} // namespace detail
} // namespace v0
} // namespace pilfer
