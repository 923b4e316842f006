// Races of elements that use a word or a block more than once, or after many calls.
#include <cstddef>
#include <mutex>
#include <vector>

#include "cases.hpp"

using cases::keep;
using pilfer::for_each;

PLANTED(read_after_write, "an element writes what all read, and reads it again itself") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            v[3] = 7; // races
        }
        sums[i] = v[3]; // races
    });
    keep(sums);
}
REPAIRED(read_after_write) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        v[i] = 7;
        sums[i] = v[i] + v[i];
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_of(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(own_word_read, "an element writes a word and reads it in a call, as all others do") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            v[3] = 7; // races
        }
        sums[i] = word_of(v, 3);
    });
    keep(sums);
}
REPAIRED(own_word_read) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        v[i] = 7;
        sums[i] = word_of(v, i) + word_of(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_read_before(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(write_after_reads, "an element reads a word in two calls and writes it, and all others read it") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = word_read_before(v, 3);
        sums[i] += word_read_before(v, 3);
        if (i == 0) {
            v[3] = 7; // races
        }
    });
    keep(sums);
}
REPAIRED(write_after_reads) {
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = word_read_before(v, i);
        sums[i] += word_read_before(v, i);
        v[i] = 7;
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] void fill_after_reads(std::vector<long>& v, std::size_t first, std::size_t last) {
    for (; first != last; ++first) {
        v[first] = 7; // races
    }
}
[[gnu::noinline]] long total_before(const std::vector<long>& v, std::size_t first, std::size_t last) {
    long sum = 0;
    for (; first != last; ++first) {
        sum += v[first];
    }
    return sum;
}
[[gnu::noinline]] long word_of_block(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(block_written_after_reads, "an element reads a block and writes it, and all others read one word") {
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            sums[i] = total_before(v, 0, 8) + word_of_block(v, 6);
            fill_after_reads(v, 0, 8);
        } else {
            sums[i] = word_of_block(v, 6);
        }
    });
    keep(sums);
}
REPAIRED(block_written_after_reads) {
    std::vector<long> v(256, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        sums[i] = total_before(v, 8 * i, 8 * i + 8) + word_of_block(v, 8 * i + 6);
        fill_after_reads(v, 8 * i, 8 * i + 8);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_without_lock(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(read_without_lock, "an element writes a word under a lock, and all read it without the lock") {
    pilfer::mutex locks[3];
    const pilfer::object_name name(locks[1], "the word's lock"); // tests/race/run.py expects it in the report
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            const std::scoped_lock hold(locks[0], locks[1], locks[2]);
            v[3] = 7; // races
        }
        sums[i] = word_without_lock(v, 3);
        sums[i] += word_without_lock(v, 3);
    });
    keep(sums);
}
REPAIRED(read_without_lock) {
    pilfer::mutex lock;
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        {
            const std::lock_guard hold(lock);
            v[i] = 7;
        }
        sums[i] = word_without_lock(v, i);
        sums[i] += word_without_lock(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] long word_without_std_lock(const std::vector<long>& v, std::size_t i) {
    return v[i]; // races
}

} // namespace

PLANTED(read_without_std_lock, "an element writes a word under a std::mutex, and all read it without") {
    std::mutex lock;
    std::vector<long> v(8, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            const std::lock_guard hold(lock);
            v[3] = 7; // races
        }
        sums[i] = word_without_std_lock(v, 3);
        sums[i] += word_without_std_lock(v, 3);
    });
    keep(sums);
}
REPAIRED(read_without_std_lock) {
    std::mutex lock;
    std::vector<long> v(32, 1);
    std::vector<long> sums(32);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        {
            const std::lock_guard hold(lock);
            v[i] = 7;
        }
        sums[i] = word_without_std_lock(v, i);
        sums[i] += word_without_std_lock(v, i);
    });
    keep(sums);
}

namespace {

[[gnu::noinline]] void fill(std::vector<long>& v, std::size_t first, std::size_t last) {
    for (; first != last; ++first) {
        v[first] = 7; // races
    }
}
[[gnu::noinline]] long total_of(const std::vector<long>& v, std::size_t first, std::size_t last) {
    long sum = 0;
    for (; first != last; ++first) {
        sum += v[first]; // races
    }
    return sum;
}

} // namespace

PLANTED(own_block_read, "an element writes a block and reads it in a call, as all others do") {
    std::vector<long> v(64);
    std::vector<long> sums(8);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        if (i == 0) {
            fill(v, 0, 64);
        }
        sums[i] = total_of(v, 0, 64);
    });
    keep(sums);
}
REPAIRED(own_block_read) {
    std::vector<long> v(64);
    std::vector<long> sums(8);
    for_each(std::size_t{0}, sums.size(), [&](std::size_t i) {
        fill(v, 8 * i, 8 * i + 8);
        sums[i] = total_of(v, 8 * i, 8 * i + 8);
    });
    keep(sums);
}

namespace {

/// Many calls with an access each, so that records are swept meanwhile.
[[gnu::noinline]] long calls_of(std::vector<long>& scratch, std::size_t depth) {
    scratch[depth] += 1;
    return depth == 0 ? scratch[0] : calls_of(scratch, depth - 1) + calls_of(scratch, depth - 1);
}

} // namespace

PLANTED(slot_across_calls, "an element uses the slot of the next one after many calls") {
    std::vector<long> slots(9);
    for_each(std::size_t{0}, std::size_t{8}, [&](std::size_t i) {
        std::vector<long> scratch(8);
        slots[i] = calls_of(scratch, 7); // races
        slots[i + 1] += 1;               // races
    });
    keep(slots);
}
REPAIRED(slot_across_calls) {
    std::vector<long> slots(9);
    for_each(std::size_t{0}, std::size_t{8}, [&](std::size_t i) {
        std::vector<long> scratch(8);
        slots[i] = 1;
        slots[i] += calls_of(scratch, 7);
        slots[i] += calls_of(scratch, 7);
    });
    keep(slots);
}
