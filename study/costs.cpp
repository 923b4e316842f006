#include "costs.hpp"

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace study {
namespace {

struct constant {
    const char* name;
    double costs::*value;
};
constexpr std::array<constant, 10> constants = {{
    {"spawn", &costs::spawn},
    {"slow_path", &costs::slow_path},
    {"steal_hit", &costs::steal_hit},
    {"steal_miss", &costs::steal_miss},
    {"steal_more", &costs::steal_more},
    {"wake_call", &costs::wake_call},
    {"wake_latency", &costs::wake_latency},
    {"context_switch", &costs::context_switch},
    {"remote_line", &costs::remote_line},
    {"reach", &costs::reach},
}};

} // namespace

costs no_costs() {
    costs c;
    c.machine = "none";
    return c;
}

costs built_in_costs() {
    costs c;
    c.spawn = 8.5;
    c.slow_path = 39.5;
    c.steal_hit = 521;
    c.steal_miss = 215;
    c.steal_more = 11;
    c.wake_call = 9'430;
    c.wake_latency = 25'190;
    c.context_switch = 4.5;
    c.remote_line = 42;
    c.reach = 12'250;
    c.machine = "AMD EPYC, 2 CPUs of a virtual machine, Linux 6.18";
    return c;
}

costs read_costs(const std::string& file) {
    std::ifstream in(file);
    if (!in) {
        throw std::runtime_error(file + ": cannot be read");
    }
    const auto fail = [&file](const std::string& why) { throw std::runtime_error(file + ": " + why); };
    costs c;
    try {
        const auto all = nlohmann::json::parse(in);
        c.machine = all.at("machine").get<std::string>();
        const auto& ns = all.at("nanoseconds");
        for (const constant& k : constants) {
            c.*k.value = ns.at(k.name).get<double>();
            if (!(c.*k.value >= 0 && c.*k.value <= 1e9)) {
                fail(std::string(k.name) + " must be from 0 to 1e9 ns");
            }
        }
        for (const auto& [name, value] : ns.items()) {
            bool known = false;
            for (const constant& k : constants) {
                known = known || name == k.name;
            }
            if (!known) {
                fail("'" + name + "' is no constant of the model");
            }
        }
    } catch (const nlohmann::json::exception& error) {
        const std::string what = error.what(); // "[json.exception.parse_error.101] parse error ..."
        const std::size_t tag = what.starts_with('[') ? what.find("] ") : std::string::npos;
        fail("it is no file of `pilfer calibrate --output`: " +
             (tag == std::string::npos ? what : what.substr(tag + 2)));
    }
    return c;
}

std::string to_json(const costs& c) {
    nlohmann::ordered_json all;
    all["machine"] = c.machine;
    for (const constant& k : constants) {
        all["nanoseconds"][k.name] = c.*k.value;
    }
    return all.dump(2) + "\n";
}

} // namespace study
