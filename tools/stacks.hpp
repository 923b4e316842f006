// Stacks of suspended contexts of another process, unwound by libdw of elfutils.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "process_memory.hpp"

namespace tools {

/// A function on a stack.
struct stack_frame {
    address at = 0;       ///< 0: the function was inlined into that of the next frame.
    std::string function; ///< "??": not known.
    std::string line;     ///< "shop.cpp:12"; empty: not known.
};

class stack_reader {
public:
    /// False: the command was built without libdw, and each stack is empty.
    [[nodiscard]] static bool is_available() noexcept;

    explicit stack_reader(process_memory const& memory);
    stack_reader(stack_reader const&) = delete;
    stack_reader& operator=(stack_reader const&) = delete;
    ~stack_reader();
    /// Looks for files that the process has loaded since the last call.
    void update();
    /// The stack that a switch left with this stack pointer, innermost frame first. It is that of one moment
    /// only if the context stays suspended meanwhile.
    [[nodiscard]] std::vector<stack_frame> read(address sp);

private:
    class unwinder;
    std::unique_ptr<unwinder> m_unwinder;
};

} // namespace tools
