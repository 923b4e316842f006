#include "harness.hpp"

namespace model {

std::vector<harness>& harnesses() {
    static std::vector<harness> all;
    return all;
}

} // namespace model
