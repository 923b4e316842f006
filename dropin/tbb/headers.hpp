// The public headers of oneTBB, whose declarations of tbb::detail::r1 are what this library exports.
//
// The library is compiled with hidden visibility. The pragma makes what these headers declare visible, and
// exports.map then selects the functions by name.
#pragma once

// Functions of r1 that the headers declare only for previews.
#define TBB_PREVIEW_TASK_GROUP_EXTENSIONS 1
#define TBB_PREVIEW_TASK_ARENA_CONSTRAINTS_EXTENSION 1

#pragma GCC visibility push(default)
#include <oneapi/tbb/cache_aligned_allocator.h>
#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/detail/_exception.h>
#include <oneapi/tbb/detail/_rtm_mutex.h>
#include <oneapi/tbb/detail/_rtm_rw_mutex.h>
#include <oneapi/tbb/detail/_small_object_pool.h>
#include <oneapi/tbb/detail/_task.h>
#include <oneapi/tbb/detail/_waitable_atomic.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/info.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/profiling.h>
#include <oneapi/tbb/queuing_rw_mutex.h>
#include <oneapi/tbb/task.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/task_scheduler_observer.h>
#include <oneapi/tbb/tbb_allocator.h>
#include <oneapi/tbb/version.h>
#pragma GCC visibility pop

static_assert(TBB_INTERFACE_VERSION_MAJOR == 12 && sizeof(tbb::detail::d1::task_group_context) == 128 &&
                  sizeof(tbb::detail::d1::task) == 64 && sizeof(tbb::detail::d1::wait_context) == 16,
              "these layouts are the binary interface of libtbb.so.12");
