// The one sentence that says what holds a program back, and how it names times and objects.
#pragma once

#include <cstdint>
#include <string>

#include "costs.hpp"
#include "graph.hpp"
#include "graph_figures.hpp"
#include "predictions.hpp"
#include "trace.hpp"
#include "trace_figures.hpp"

namespace study {

/// The cause that holds a program back.
enum class cause : std::uint8_t { nothing, lock, serial, tiny, little, outside };
struct diagnosis {
    cause what = cause::nothing;
    std::string sentence;
};
[[nodiscard]] diagnosis diagnose(const recorded_trace& t, const trace_figures& f);
[[nodiscard]] diagnosis diagnose(const recorded_graph& g, const graph_figures& f, const simulated_run& run,
                                 const costs& price);

/// "a mutex "accounts"", or the reason alone.
[[nodiscard]] std::string with_name(const std::string& reason, const std::string& name);

/// A time for people: three digits or more, with a unit.
[[nodiscard]] std::string time_text(double ns);

} // namespace study
