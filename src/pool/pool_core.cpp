#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

pool_core::pool_core(const options& checked, const plan& how, bool never_ends)
    : team(*this, checked, how), threads(*this), gate(*this, checked), m_never_ends(never_ends) {
    m_options.pin = threads.pinning_now();
    if (gate.places().bounded()) {
        set_bound(gate);
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
