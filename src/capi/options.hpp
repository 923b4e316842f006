// The object of a pilfer_options handle.
#pragma once

#include <string>

#include <pilfer/options.hpp>
#include <pilfer/pilfer.h>

struct pilfer_options {
    pilfer::options values;
    mutable std::string error; ///< for pilfer_options_error()
};
