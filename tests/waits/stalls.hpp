// The fixture of reports of stalls.
#pragma once

#include "waits/waits.hpp"

namespace waits {

class reported_stall : public guarded {};

inline const char* const stall = "pilfer: stall: nothing has run in pool";

} // namespace waits
