// One run over all ranks, as the templates of a session see it.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include <pilfer/cluster/archive.hpp>
#include <pilfer/detail/base/atom.hpp>
#include <pilfer/detail/cluster/task.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {

class session_core;
struct session_access; // of the interface for C

/// While it lives, this rank is in a run. Throws usage_error where none may begin.
class cluster_run {
public:
    cluster_run(session_core& core, cluster_task& root);
    cluster_run(const cluster_run&) = delete;
    cluster_run& operator=(const cluster_run&) = delete;
    ~cluster_run();

    [[nodiscard]] bool has_others() const noexcept;
    /// On rank 0 runs `root(archive&)`, which writes its result, as a task. All ranks balance until it has
    /// ended, and return its result or throw remote_error.
    template <class Root>
    [[nodiscard]] std::vector<std::byte> run(const Root& root) const {
        return run_erased([](const void* f, cluster::archive& out) { (*static_cast<const Root*>(f))(out); },
                          std::addressof(root));
    }

private:
    [[nodiscard]] std::vector<std::byte> run_erased(void (*root)(const void*, cluster::archive&),
                                                    const void* closure) const;
    session_core* m_core;
    cluster_task* m_root;
};

/// Keeps a pointer set.
template <class T>
class set_while {
public:
    set_while(std::atomic<T*>& where, T* what) noexcept : m_where(where) { m_where.store(what, rel); }
    set_while(const set_while&) = delete;
    set_while& operator=(const set_while&) = delete;
    ~set_while() { m_where.store(nullptr, rel); }

private:
    std::atomic<T*>& m_where;
};

} // namespace detail
} // namespace v0
} // namespace pilfer
