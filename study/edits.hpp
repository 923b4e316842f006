// Edits of a program, made to its recorded graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph.hpp"

namespace study {

/// Critical sections of a recorded lock.
struct lock_figures {
    unsigned lock = 0;
    std::uint64_t sections = 0;
    moment held = 0; ///< What tasks computed meanwhile.
};
/// The longest held first.
[[nodiscard]] std::vector<lock_figures> locks_of(const recorded_graph& g);
/// "the lock of x.cpp:12", or "lock 3" if its line is not known.
[[nodiscard]] std::string lock_name(const recorded_graph& g, unsigned lock);

/// Replaces each lock of `which` by `parts` locks. Its critical sections take them in turn, in the order of
/// the numbers of their tasks, which is the order of the forks. So no part gets more than its share: the best
/// that a real split can do.
[[nodiscard]] std::unique_ptr<recorded_graph> split_locks(const recorded_graph& g,
                                                          const std::vector<unsigned>& which, unsigned parts);
/// Removes all locks: the time without them.
[[nodiscard]] std::unique_ptr<recorded_graph> without_locks(const recorded_graph& g);

/// Merges tasks that are forked at `line`, as if up to `k` of them were one. A task of the line is whole if
/// it and all tasks below it are at most `k`, all forked at the line, and wait for their own children alone.
/// 1. A whole task runs the tasks below it itself, at their forks: a recursion that stops forking earlier.
/// 2. Whole tasks that one parent forks one after another, without a wait in between, are one task as long as
/// they are
///    at most `k` together. It is forked where the last of them was, and runs them in their order: a loop
///    over blocks.
/// 3. A parent that is of the line itself runs the last such row before a wait itself if it and they are at
/// most `k`. All other tasks stay. A wait for a merged task is one for the task that runs it.
[[nodiscard]] std::unique_ptr<recorded_graph> with_grain(const recorded_graph& g, unsigned line,
                                                         std::uint64_t k);

} // namespace study
