#include "backend/helping.hpp"

#include <atomic>

#include <pilfer/detail/base/atom.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// The pool whose job this thread runs. No caller suspends between two reads, so it is read as any
/// thread-local.
///
/// A relaxed atomic, which costs a plain move. A guest and the tasks that it runs share a thread, but
/// ThreadSanitizer takes the contexts of one thread for different threads.
constinit thread_local std::atomic<const pool_core*> helped{nullptr};

} // namespace

helping::helping(const pool_core& p) noexcept : m_before(helped.load(rlx)) { helped.store(&p, rlx); }
helping::~helping() { helped.store(m_before, rlx); }

bool helping::is_for(const pool_core& p) noexcept { return helped.load(rlx) == &p; }
bool helping::is_for_any() noexcept { return helped.load(rlx) != nullptr; }

} // namespace detail
} // namespace v0
} // namespace pilfer
