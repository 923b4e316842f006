// Prints the current step on standard error: one changing line on a terminal, else a line per step.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace showcase {

class progress {
public:
    explicit progress(std::size_t steps);
    ~progress();
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;

    /// A new step begins. `expected` seconds, if something like it ran before, else 0.
    void begin(std::string what, double expected);
    /// To be called ten times a second or so while the step lasts; `detail` is shown after the time.
    void tick(std::string const& detail = {});
    void end(std::string const& result);

private:
    void draw(std::string const& line);
    void erase();

    bool m_live;
    std::size_t m_steps;
    std::size_t m_step = 0;
    std::string m_what;
    double m_expected = 0;
    std::chrono::steady_clock::time_point m_start;
    double m_said = 0; // seconds of the step at its last line
};

} // namespace showcase
