// A namespace whose templates would win over the library's own functions of these names. They take any
// argument, by forwarding reference, and refuse to compile.
#pragma once

namespace greedy {

template <class...>
inline constexpr bool never = false;

/// Taken for each type with an argument of this namespace, such as `future<greedy::number>`.
template <class T>
void operator&(T&&) = delete;

#define PILFER_TEST_GREEDY(name)                                                                             \
    template <class... T>                                                                                    \
    auto name(T&&...) {                                                                                      \
        static_assert(never<T...>, "the library called " #name " of a user's namespace");                    \
    }

PILFER_TEST_GREEDY(element)
PILFER_TEST_GREEDY(advanced)
PILFER_TEST_GREEDY(range_size)
PILFER_TEST_GREEDY(run_range)
PILFER_TEST_GREEDY(in_loop)
PILFER_TEST_GREEDY(call_piece)
PILFER_TEST_GREEDY(run_pieces)
PILFER_TEST_GREEDY(over_pieces)
PILFER_TEST_GREEDY(run_fold)
PILFER_TEST_GREEDY(over_fold)
PILFER_TEST_GREEDY(run_search)
PILFER_TEST_GREEDY(over_search)
PILFER_TEST_GREEDY(at)
PILFER_TEST_GREEDY(length)
PILFER_TEST_GREEDY(each)
PILFER_TEST_GREEDY(transform_one)
PILFER_TEST_GREEDY(copy_all)
PILFER_TEST_GREEDY(find_index)
PILFER_TEST_GREEDY(find_first)
PILFER_TEST_GREEDY(extreme_index)
PILFER_TEST_GREEDY(run_tree)
PILFER_TEST_GREEDY(serial_tree)
PILFER_TEST_GREEDY(serial_fold)
PILFER_TEST_GREEDY(unrolled_tree)
PILFER_TEST_GREEDY(reduce_tree)
PILFER_TEST_GREEDY(scan_all)
PILFER_TEST_GREEDY(copy_selected)
PILFER_TEST_GREEDY(filtered)
PILFER_TEST_GREEDY(compact)
PILFER_TEST_GREEDY(partitioned)
PILFER_TEST_GREEDY(grouped)
PILFER_TEST_GREEDY(work_wanted)
PILFER_TEST_GREEDY(invoke_regular)
PILFER_TEST_GREEDY(run_first)
PILFER_TEST_GREEDY(run_last)
PILFER_TEST_GREEDY(join_announced)
PILFER_TEST_GREEDY(join_signalled)
PILFER_TEST_GREEDY(join_two)
PILFER_TEST_GREEDY(join_all)
PILFER_TEST_GREEDY(join_outside)
PILFER_TEST_GREEDY(address_again)
PILFER_TEST_GREEDY(announce)
PILFER_TEST_GREEDY(announce_signalled)
PILFER_TEST_GREEDY(push_task)
PILFER_TEST_GREEDY(reclaim)
PILFER_TEST_GREEDY(wait_for)
PILFER_TEST_GREEDY(release_waiter)
PILFER_TEST_GREEDY(submit)
PILFER_TEST_GREEDY(dropping)
PILFER_TEST_GREEDY(begin_outstanding)
PILFER_TEST_GREEDY(end_outstanding)
PILFER_TEST_GREEDY(count_dropped)
PILFER_TEST_GREEDY(count_suppressed)
PILFER_TEST_GREEDY(count_plain_call)
PILFER_TEST_GREEDY(put_context)
PILFER_TEST_GREEDY(refill_contexts)
PILFER_TEST_GREEDY(take_record)
PILFER_TEST_GREEDY(put_record)
PILFER_TEST_GREEDY(child_ended)
PILFER_TEST_GREEDY(child_is_last_or_search)
PILFER_TEST_GREEDY(call_on)
PILFER_TEST_GREEDY(arrive)
PILFER_TEST_GREEDY(common_core)
PILFER_TEST_GREEDY(pool_of)
PILFER_TEST_GREEDY(this_worker)
PILFER_TEST_GREEDY(acquire)
PILFER_TEST_GREEDY(release)

#undef PILFER_TEST_GREEDY

/// Every comma between two expressions, one of which has a type of this namespace or is an iterator of such a
/// type, is an error unless one of them is void.
template <class A, class B>
void operator,(A&&, B&&) = delete;

} // namespace greedy
