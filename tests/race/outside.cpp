// A loop that main() runs outside of a pool, with a race: its report names the line of the loop.
#include <pilfer/pilfer.hpp>

// A program may define a function of the C library itself.
extern "C" const char* find_any(const char* text, const char*) noexcept asm("strpbrk");
const char* find_any(const char* text, const char*) noexcept { return text; }

int main() {
    long sum = 0;
    pilfer::for_each(0, 100, [&](int i) { sum += i; });
    return sum == 4950 ? 0 : 1;
}
