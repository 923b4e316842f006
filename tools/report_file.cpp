#include "report_file.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tools {
namespace {

[[noreturn]] void fail(std::string const& name) {
    int const error = errno;
    throw std::system_error(error, std::generic_category(),
                            name.empty() ? "cannot write the report"
                                         : fmt::format("cannot write '{}'", name));
}

} // namespace

report_file::report_file(std::string name, std::FILE* otherwise)
    : m_name(std::move(name)), m_otherwise(otherwise) {
    if (!m_name.empty()) {
        m_is_new = ::access(m_name.c_str(), F_OK) != 0;
        m_file.reset(std::fopen(m_name.c_str(), "abe"));
        if (m_file == nullptr) {
            fail(m_name);
        }
    }
}

report_file::~report_file() {
    if (m_file != nullptr && m_is_new) {
        (void)::unlink(m_name.c_str());
    }
}

void report_file::write(std::string const& text) {
    std::FILE* const out = m_file != nullptr ? m_file.get() : m_otherwise;
    if (m_file != nullptr) {
        (void)::ftruncate(::fileno(out), 0); // a pipe or a device has nothing to cut
    }
    if (std::fwrite(text.data(), 1, text.size(), out) != text.size() || std::fflush(out) != 0) {
        fail(m_name);
    }
    if (m_file != nullptr &&
        std::fclose(m_file.release()) != 0) { // some file systems report a full disk here
        fail(m_name);
    }
}

void require_writable(std::string const& name) {
    if (std::filesystem::is_directory(name)) {
        errno = EISDIR;
        fail(name);
    }
    if (::access(name.c_str(), F_OK) == 0) { // to open a pipe would wait for its reader
        if (::access(name.c_str(), W_OK) != 0) {
            fail(name);
        }
        return;
    }
    report_file const attempt(name, nullptr);
}

} // namespace tools
