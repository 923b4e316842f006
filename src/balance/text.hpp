// The names of the policies, for PILFER_BALANCE and for the command line.
#pragma once

#include <string>
#include <string_view>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {
namespace balance {

/// Replaces in `o` what is automatic: by what `text` names (null: nothing), else by the default. Throws
/// std::invalid_argument that lists the known names, the range of a number, or two names of one kind.
void resolve(balance_options& o, const char* text);

/// What `text` names; what it does not name stays automatic. Throws as resolve() does.
[[nodiscard]] balance_options named(std::string_view text);

/// What the runtime uses where nobody chose.
[[nodiscard]] balance_options defaults();

/// "half,random,on-demand": text that resolve() reads.
[[nodiscard]] std::string name(const balance_options& o);
[[nodiscard]] std::string name(steal_amount a);
[[nodiscard]] std::string_view name(victim v);

} // namespace balance
} // namespace v0
} // namespace pilfer
