#include "trace/file.hpp"

#include <atomic>
#include <cerrno>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include "base/write.hpp"
#include "platform/os.hpp"

namespace pilfer {
inline namespace v0 {
namespace trace {
namespace {

[[nodiscard]] std::string with_process_id(std::string path) {
    const std::string id = std::to_string(os::process_id());
    for (std::size_t at = 0; (at = path.find("%p", at)) != std::string::npos; at += id.size()) {
        path.replace(at, 2, id);
    }
    return path;
}

} // namespace

file::file(purpose& why, const char* path)
    : m_variable(why.variable), m_path(with_process_id(path)), m_process(os::process_id()) {
    if (m_path.empty()) {
        throw std::invalid_argument(std::string("pilfer: ") + m_variable + " must name a file, but is empty");
    }
    // The counter also counts files that cannot be made: two pools that begin at the same time must not get
    // the same number.
    if (const unsigned number = why.files.fetch_add(1, std::memory_order_relaxed) + 1; number > 1) {
        m_path += '.';
        m_path += std::to_string(number);
    }
    m_out = std::make_unique<std::ofstream>(m_path, std::ios::binary | std::ios::trunc);
    if (!*m_out) {
        throw std::system_error(errno, std::generic_category(),
                                std::string("pilfer: ") + m_variable + ": cannot write '" + m_path + "'");
    }
}

file::~file() = default;

std::ostream& file::stream() noexcept { return *m_out; }

void file::write(const std::function<void(std::ostream&)>& body) noexcept {
    // The common pool's file is written at exit, perhaps while a thread shuts that pool down.
    if (m_process != os::process_id() || m_written.exchange(true, std::memory_order_acq_rel)) {
        return;
    }
    try {
        body(*m_out);
        m_out->close();
        if (!*m_out) {
            throw std::runtime_error("the file is not complete");
        }
    } catch (const std::exception& e) {
        os::write_error("pilfer: ");
        os::write_error(m_variable);
        os::write_error(": ");
        os::write_error(m_path.c_str());
        os::write_error(": ");
        os::write_error(e.what());
        os::write_error("\n");
    }
    m_out.reset();
}

} // namespace trace
} // namespace v0
} // namespace pilfer
