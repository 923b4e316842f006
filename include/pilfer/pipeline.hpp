// pipeline: items flow through stages, several of them at once.
#pragma once

#include <cstddef>
#include <utility>

#include <pilfer/detail/pipeline/stage.hpp>
#include <pilfer/pool.hpp>

namespace pilfer {
inline namespace v0 {

/// A stage that has one item at a time, in the order in which the source gave them. An item that comes too
/// early is parked; it keeps its token, but neither a worker nor a stack. Each call happens before the next
/// one, so that the function may write plain variables. As the first stage: the source.
template <class F>
class serial_in_order : public detail::pipeline_stage<detail::stage_order::in_order, F> {
public:
    /// Makes a stage of `f`, which may be a lambda, a function or a pointer to a member.
    explicit serial_in_order(F f) : detail::pipeline_stage<detail::stage_order::in_order, F>(std::move(f)) {}
};

/// A stage that has one item at a time, in the order in which they come. Each call happens before the next
/// one. As the first stage: the source, in no way different from serial_in_order.
template <class F>
class serial_out_of_order : public detail::pipeline_stage<detail::stage_order::as_they_come, F> {
public:
    /// Makes a stage of `f`, which may be a lambda, a function or a pointer to a member.
    explicit serial_out_of_order(F f)
        : detail::pipeline_stage<detail::stage_order::as_they_come, F>(std::move(f)) {}
};

/// A stage that has any number of items at once. Its function is called by several workers at once, as a
/// const object: a lambda that is `mutable` does not compile.
template <class F>
class parallel_stage : public detail::pipeline_stage<detail::stage_order::parallel, F> {
public:
    /// Makes a stage of `f`, which may be a lambda, a function or a pointer to a member.
    explicit parallel_stage(F f) : detail::pipeline_stage<detail::stage_order::parallel, F>(std::move(f)) {}
};

/// Runs items through stages, and returns when all items are through.
///
/// `tokens`: most items in flight at once, at least 1. `source`: a serial stage without argument that returns
/// std::optional<T>; an empty one ends the input. `stages`: at least one; each takes what the one before it
/// returns, as an rvalue. The result of the last one is dropped. Values are never copied, and moved only if a
/// stage takes its argument by value.
///
/// Runs in the pool of the calling task; outside a pool in pool::common(). The caller takes part. A stage may
/// wait, fork, and run another pipeline; its worker is free while it waits.
///
/// The first exception of a stage ends the source. Items in flight go no further, calls that have begun end,
/// all values are destroyed, and the exception is rethrown. A cancellation of an enclosing scope ends the
/// pipeline likewise, by `stopped`. Throws std::invalid_argument for 0 tokens, and std::bad_alloc.
///
/// Cost of an item: two short locks for the source and for each serial stage, an indirect call for each
/// stage; an item that was parked also costs a fork. Items that take less than about 0.25 us are carried by
/// one task, because a second worker would cost more than it does. Memory: a record for each token that is in
/// use, and 8 to 16 bytes a token for each stage in order.
template <class Source, class... Stages>
void pipeline(std::size_t tokens, Source source, Stages... stages) {
    detail::run_stages(tokens, source, stages...);
}

/// As pipeline(tokens, source, stages...), in the pool `p`. Throws what that throws, and what pool::run()
/// throws.
template <class Source, class... Stages>
void pipeline(pool& p, std::size_t tokens, Source source, Stages... stages) {
    p.run([&] { detail::run_stages(tokens, source, stages...); });
}

} // namespace v0
} // namespace pilfer
