// The figures that a program gives to Prometheus: its HTTP handler would send this text.
#include <cstdio>
#include <sstream>
#include <string>

#include <pilfer/pilfer.hpp>

int main() {
    pilfer::pool pool({.workers = 2, .name = "shop"});
    for (int i = 0; i < 3; ++i) {
        pool.run([] {});
    }
    // Of the text, this program prints the lines that are the same on every machine.
    std::istringstream text(pilfer::prometheus_text());
    for (std::string line; std::getline(text, line);) {
        if (line.find("tasks_begun_total") != std::string::npos && line.find("own") == std::string::npos) {
            std::puts(line.c_str());
        }
    }
}
