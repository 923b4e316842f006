// Shared by every benchmark program: sizes, the command line, the one-line JSON report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace bench {

/// `tiny` is for tests and `quick` for a look. `full` compares one worker with the rivals. `medium` is for
/// runs over several worker counts, shorter than `full` if that would be tedious. `large` is a longer job.
enum class size { tiny, quick, medium, full, large };

/// One value per size; kernels keep their settings and answers in it.
template <class T>
struct by_size {
    T tiny;
    T quick;
    T medium;
    T full;
    T large;

    constexpr const T& operator[](size s) const {
        switch (s) {
        case size::tiny:
            return tiny;
        case size::quick:
            return quick;
        case size::medium:
            return medium;
        case size::full:
            return full;
        case size::large:
            return large;
        }
        return tiny;
    }
};

struct command_line {
    unsigned workers = 1;
    bench::size size = bench::size::quick;
    unsigned repeat = 1; // timed runs after the warm-up
    bool spoil = false;  // falsify the answer: shows that the check can fail
};

using answer_type = std::variant<std::uint64_t, double>;

struct measurement {
    std::vector<double> seconds;
    bool ok = true;
    answer_type answer = std::uint64_t{0};
    /// For kernels that count items, one value per timed run: the items of the worker that had the fewest,
    /// and of the one that had the most. Both are relative to a fair share, which is 1.
    std::vector<double> smallest_share;
    std::vector<double> largest_share;
};

/// Parses the arguments. Prints help or an error and ends the process if the arguments ask for it.
command_line parse(int argc, char** argv, std::string_view kernel, std::string_view runtime);

/// Prints the JSON line. Returns the exit status: 0 when every answer was right.
int report(std::string_view kernel, std::string_view runtime, std::string_view compiler,
           const command_line& line, const measurement& result);

/// Makes sure that the main thread's stack and those of OpenMP's workers hold `bytes`. Both are fixed when
/// a program starts, so this starts the program again if they are too small.
void ensure_stack(char** argv, std::size_t bytes);

/// The compiler of the translation unit that asks (an inline function would be merged between compilers).
#if defined(__clang__)
#define BENCH_COMPILER "clang++ " __clang_version__
#elif defined(__GNUC__)
#define BENCH_COMPILER "g++ " __VERSION__
#else
#define BENCH_COMPILER "unknown"
#endif

/// Hides the object's value from the compiler, so that no run is computed from another one.
template <class T>
inline void forget(T& object) {
    asm volatile("" : : "r"(&object) : "memory");
}

/// Defaults for a kernel's members. A kernel hides the members that it wants to be different.
struct kernel_base {
    /// True for kernels that consist of flat loops: OpenMP then gets no enclosing parallel region.
    static constexpr bool flat = false;
    /// Bytes of stack that one task chain needs; 0: the runtime's default.
    std::size_t stack_bytes() const { return 0; }
    /// Runs before each repetition, outside the time.
    void prepare() {}
    /// Makes the answer from the result of run() and the memory that it wrote, outside the time.
    template <class T>
    T complete(T answer) const {
        return answer;
    }
};

} // namespace bench
