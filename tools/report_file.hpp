// The file of a report about a program that has yet to run.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace tools {

class report_file {
public:
    /// Opens `name`, so that a file which cannot be written is reported before the program runs. Its former
    /// content stays until write(). Empty: the report goes to `otherwise`. Throws std::system_error.
    report_file(std::string name, std::FILE* otherwise);
    report_file(report_file const&) = delete;
    report_file& operator=(report_file const&) = delete;
    /// Removes a file that was not there before, if there is no report.
    ~report_file();
    /// Once. Throws std::system_error.
    void write(std::string const& text);

private:
    struct closer {
        void operator()(std::FILE* f) const noexcept { (void)std::fclose(f); }
    };

    std::string m_name;
    std::FILE* m_otherwise;
    bool m_is_new = false;
    std::unique_ptr<std::FILE, closer> m_file;
};

/// Throws std::system_error if the file of another program's report cannot be written. Leaves no new file.
void require_writable(std::string const& name);

} // namespace tools
