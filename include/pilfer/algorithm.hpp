// The parallel algorithms: names, parameters and results of std::ranges, and some beyond.
#pragma once

#include <pilfer/algorithm/compare.hpp>
#include <pilfer/algorithm/group.hpp>
#include <pilfer/algorithm/loops.hpp>
#include <pilfer/algorithm/reduce.hpp>
#include <pilfer/algorithm/scan.hpp>
#include <pilfer/algorithm/search.hpp>
#include <pilfer/algorithm/select.hpp>
#include <pilfer/algorithm/spaces.hpp>
#include <pilfer/sort.hpp>
