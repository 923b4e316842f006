#include <stdexcept>
#include <string>

#include <pilfer/balance.hpp>

namespace pilfer {
inline namespace v0 {

void weight::refuse(std::uint64_t value) {
    throw std::invalid_argument("pilfer: weight must be from 1 to " + std::to_string(most) + ", not " +
                                std::to_string(value));
}

} // namespace v0
} // namespace pilfer
