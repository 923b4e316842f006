// What the tests of row D10 share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <tuple>

#include "support/harness.hpp"
#include "worker/holders.hpp"
#include "worker/pool_core.hpp"

namespace carriers {

using pilfer::detail::context;
using support::hundredth_of;

[[nodiscard]] inline const context* this_stack() { return pilfer::detail::running_task()->ctx; }
[[nodiscard]] inline unsigned this_index() { return pilfer::detail::this_worker()->index; }

using parameters = std::tuple<unsigned, pilfer::exposure>;

class row_D10 : public testing::TestWithParam<parameters> {
protected:
    [[nodiscard]] static unsigned workers() { return std::get<0>(GetParam()); }
    [[nodiscard]] static pilfer::options with(unsigned workers) {
        pilfer::options o;
        o.workers = workers;
        o.exposure = std::get<1>(GetParam());
        return o;
    }

private:
    support::watchdog m_limit{support::patience};
};
[[nodiscard]] inline std::string name_of(const testing::TestParamInfo<parameters>& p) {
    return std::to_string(std::get<0>(p.param)) +
           (std::get<1>(p.param) == pilfer::exposure::on_demand ? "" : "_public");
}
#define PILFER_OVER(fixture, ...)                                                                            \
    INSTANTIATE_TEST_SUITE_P(                                                                                \
        workers, fixture,                                                                                    \
        testing::Combine(testing::Values(__VA_ARGS__),                                                       \
                         testing::Values(pilfer::exposure::on_demand, pilfer::exposure::always_public)),     \
        &name_of)

} // namespace carriers
