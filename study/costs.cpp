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
    c.spawn = 5.6;
    c.slow_path = 37.8;
    c.steal_hit = 1'520;
    c.steal_miss = 218;
    c.steal_more = 12.8;
    c.wake_call = 4'670;
    c.wake_latency = 18'760;
    c.context_switch = 4.1;
    c.remote_line = 220;
    c.reach = 12'460;
    c.machine = "AMD EPYC, 2 CPUs of a virtual machine that others loaded, Linux 6.18";
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
        fail(error.what());
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
