// The two forms of pool::dump.
#include <ostream>

#include <pilfer/pool.hpp>

#include "base/write.hpp"
#include "observe/report.hpp"

namespace pilfer {
inline namespace v0 {

void pool::dump(std::ostream& out) const { out << detail::dump_text(*m_core); }

void pool::dump(int file) const {
    const std::string text = detail::dump_text(*m_core);
    os::write_all(file, text.data(), text.size());
}

} // namespace v0
} // namespace pilfer
