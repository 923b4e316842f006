// The one session of a process without other ranks, for tests of several files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <typeinfo>

#include <pilfer/cluster.hpp>

namespace one_session {

/// The place of a bound among all of them.
template <class T, class Better>
std::size_t number_of(const pilfer::cluster::bound<T, Better>& b) {
    const auto& all = pilfer::detail::cluster_bounds();
    const std::string type = typeid(b).name();
    return static_cast<std::size_t>(std::ranges::find(all, type, &pilfer::detail::bound_word::type) -
                                    all.begin());
}

/// A process makes one session.
inline pilfer::cluster::session& session() {
    static pilfer::cluster::session only(0, nullptr, {.workers = 3});
    return only;
}

} // namespace one_session
