// pilfer: a work-stealing runtime for C++20. This header includes everything.
#pragma once

#include <pilfer/counters.hpp>
#include <pilfer/error.hpp>
#include <pilfer/future.hpp>
#include <pilfer/join.hpp>
#include <pilfer/options.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/parallel/reduce.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/profile.hpp>
#include <pilfer/promise.hpp>
#include <pilfer/scheduler.hpp>
#include <pilfer/scope.hpp>
#include <pilfer/task.hpp>
#include <pilfer/timer.hpp>
#include <pilfer/trace.hpp>
#include <pilfer/when.hpp>
