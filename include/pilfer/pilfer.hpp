// pilfer: a work-stealing runtime for C++20. This header includes everything but sort.hpp, algorithm.hpp,
// and the headers for tests, the cluster and other libraries.
#pragma once

#if __cplusplus < 202002L
#error "pilfer needs -std=c++20"
#endif

#include <pilfer/attachment.hpp>
#include <pilfer/barrier.hpp>
#include <pilfer/blocking.hpp>
#include <pilfer/cancel.hpp>
#include <pilfer/channel.hpp>
#include <pilfer/checked_lock.hpp>
#include <pilfer/co_await.hpp>
#include <pilfer/co_barrier.hpp>
#include <pilfer/co_call.hpp>
#include <pilfer/co_lock.hpp>
#include <pilfer/condition_variable.hpp>
#include <pilfer/counters.hpp>
#include <pilfer/error.hpp>
#include <pilfer/event.hpp>
#include <pilfer/first_result_scope.hpp>
#include <pilfer/future.hpp>
#include <pilfer/graph.hpp>
#include <pilfer/io.hpp>
#include <pilfer/join.hpp>
#include <pilfer/keep_warm.hpp>
#include <pilfer/latch.hpp>
#include <pilfer/metrics.hpp>
#include <pilfer/monitor.hpp>
#include <pilfer/mutex.hpp>
#include <pilfer/named.hpp>
#include <pilfer/on.hpp>
#include <pilfer/options.hpp>
#include <pilfer/parallel/for_each.hpp>
#include <pilfer/parallel/loop_team.hpp>
#include <pilfer/parallel/reduce.hpp>
#include <pilfer/pipeline.hpp>
#include <pilfer/pool.hpp>
#include <pilfer/profile.hpp>
#include <pilfer/promise.hpp>
#include <pilfer/scheduler.hpp>
#include <pilfer/scope.hpp>
#include <pilfer/semaphore.hpp>
#include <pilfer/shared_mutex.hpp>
#include <pilfer/stop.hpp>
#include <pilfer/synchronized.hpp>
#include <pilfer/task.hpp>
#include <pilfer/task_options.hpp>
#include <pilfer/timer.hpp>
#include <pilfer/trace.hpp>
#include <pilfer/when.hpp>
#include <pilfer/worker_local.hpp>
#include <pilfer/yield.hpp>
