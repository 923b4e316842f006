// The names of the policies, for PILFER_BALANCE and for the command line.
#pragma once

#include <string>
#include <string_view>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// Replaces each automatic option in `o` by the one that `text` names, else by the default. `text` may be
/// null. Throws std::invalid_argument, which lists the known names, a number's range, or two conflicting
/// names.
void resolve(balance_options& o, const char* text);

/// Options that `text` names; all others stay automatic. Throws std::invalid_argument if resolve() would.
[[nodiscard]] balance_options named(std::string_view text);

/// The options that replace automatic ones by default.
[[nodiscard]] balance_options defaults();

/// "half,random,on-demand": text that resolve() reads.
[[nodiscard]] std::string name(const balance_options& o);
[[nodiscard]] std::string name(steal_amount a);
[[nodiscard]] std::string_view name(victim v);

} // namespace balance
} // namespace v0
} // namespace pilfer
