// For the gdb script's test: three contexts wait for each other; then the program stops itself.
#include <csignal>

#include "waits/waits.hpp"

int main() {
    using namespace waits;
    pilfer::pool& p = lasting(reporting_after(0, 3));
    static ring<3> r;
    r.start(p, {&first_waits, &second_waits, &third_waits});
    while (suspended(p) < 3) {
        std::this_thread::sleep_for(100us);
    }
    std::raise(SIGTRAP);
    _exit(0);
}
