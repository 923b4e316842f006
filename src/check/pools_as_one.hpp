// The pools of a program whose schedules are explored: all of them are the one that explores.
#pragma once

#if defined(PILFER_TEST)

#include <list>

#include <pilfer/options.hpp>

#include "pool/stand_in.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// On the explored thread, and on the initial one after it.
class pools_as_one final : public pool_stand_in {
public:
    [[nodiscard]] pool_core& begins(const pool& p, const options& checked) override;
    [[nodiscard]] const options* settings(const pool& p) const noexcept override;
    void drains() noexcept override;
    void ends(const pool& p) noexcept override;

    /// Calls options.on_error of the newest pool that has one. False: none has.
    [[nodiscard]] bool handles(const std::exception_ptr& error) const;

private:
    struct one {
        const pool* at;
        options asked;
    };
    std::list<one> m_all; // the newest first
    bool m_several = false;
};

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
