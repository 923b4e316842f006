// Planted errors around atomic variables: a look and a change that are two steps.
#pragma once

#include <array>

#include "explore/bugs_common.hpp"

namespace bugs {

inline void lost_update(bool repaired) {
    shared<int> count{0};
    const auto add = [&] {
        if (repaired) {
            count += 1;
        } else {
            count = count + 1;
        }
    };
    both(add, add);
    require(count == 2, "both additions count");
}

/// A stack of free cells, by compare and exchange of its top alone.
inline void reused_cell(bool repaired) {
    constexpr unsigned none = 3;
    std::array<shared<unsigned>, 3> next{1U, 2U, none};
    shared<unsigned> top{0}; // the cell, and above it a count of changes
    std::array<shared<int>, 3> owners{0, 0, 0};
    const auto pop = [&]() -> unsigned {
        for (;;) {
            unsigned seen = top;
            const unsigned cell = seen & 255;
            if (cell == none) {
                return none;
            }
            const unsigned then = next[cell] | (repaired ? (seen & ~255U) + 256 : 0);
            if (top.compare_exchange_strong(seen, then)) {
                return cell;
            }
        }
    };
    const auto push = [&](unsigned cell) {
        for (;;) {
            unsigned seen = top;
            next[cell] = seen & 255;
            if (top.compare_exchange_strong(seen, cell | (repaired ? (seen & ~255U) + 256 : 0))) {
                return;
            }
        }
    };
    const auto own = [&](unsigned cell) {
        if (cell != none) {
            require(++owners[cell] == 1, "a cell has one owner");
        }
    };
    both([&] { own(pop()); },
         [&] {
             const unsigned a = pop();
             own(a);
             own(pop());
             if (a != none) {
                 --owners[a];
                 push(a);
             }
             own(pop());
             own(pop());
         });
}

/// The count is read once more after it was lowered.
inline void reference_count(bool repaired) {
    shared<int> count{2};
    int ended = 0;
    const auto release = [&] {
        const int left = count.fetch_sub(1) - 1;
        if ((repaired ? left : count.load()) == 0) {
            ++ended;
        }
    };
    both(release, release);
    require(ended == 1, "an object ends once");
}

/// A weak reference looks whether the object lives, and only then counts itself.
inline void weak_reference(bool repaired) {
    shared<int> count{1};
    shared<bool> alive{true};
    both(
        [&] {
            if (count.fetch_sub(1) == 1) {
                alive = false;
            }
        },
        [&] {
            bool got = false;
            if (repaired) {
                for (int seen = count; seen != 0 && !got;) {
                    got = count.compare_exchange_strong(seen, seen + 1);
                }
            } else if (count != 0) {
                count += 1;
                got = true;
            }
            require(!got || alive, "a locked reference refers to a living object");
        });
}

/// The handler is registered after the look, and the cancellation comes in between.
inline void handler_after_look(bool repaired) {
    shared<bool> cancelled{false};
    shared<bool> registered{false};
    shared<int> told{0};
    both(
        [&] {
            if (!repaired && cancelled) {
                told += 1;
                return;
            }
            registered = true;
            if (repaired && cancelled && registered.exchange(false)) {
                told += 1;
            }
        },
        [&] {
            cancelled = true;
            if (registered.exchange(false)) {
                told += 1;
            }
        });
    require(told == 1, "the handler is told once");
}

inline void torn_read(bool repaired) {
    shared<unsigned> version{0};
    shared<int> x{0};
    shared<int> y{0};
    both(
        [&] {
            version += 1;
            x = 1;
            y = 1;
            version += 1;
        },
        [&] {
            for (;;) {
                const unsigned before = version;
                const int a = x;
                const int b = y;
                if (repaired && (before % 2 != 0 || version != before)) {
                    pilfer::yield();
                    continue;
                }
                require(a == b, "both halves are of one version");
                return;
            }
        });
}

/// A lock made of a flag: looked at, then set.
inline void flag_as_lock(bool repaired) {
    shared<bool> taken{false};
    int inside = 0;
    const auto enter = [&] {
        if (repaired) {
            while (taken.exchange(true)) {
                pilfer::yield();
            }
        } else {
            while (taken) {
                pilfer::yield();
            }
            taken = true;
        }
        require(++inside == 1, "one task is inside");
        pilfer::test::point();
        --inside;
        taken = false;
    };
    both(enter, enter);
}

} // namespace bugs
