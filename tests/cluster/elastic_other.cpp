// A program with other tasks than elastic.cpp, and with a bound if it has an argument more. If the
// environment has TEST_ADDRESSES, each name of a host has as many addresses, all equal to its first one.
#include <dlfcn.h>
#include <netdb.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <pilfer/cluster.hpp>

struct only_here {
    int operator()() const { return 1; }
};
PILFER_CLUSTER_TASK(only_here);

/// Replaces the C library's function. glibc's freeaddrinfo() frees what it makes.
extern "C" int getaddrinfo(const char* host, const char* port, const addrinfo* wanted, addrinfo** all) {
    using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
    const int result = reinterpret_cast<function>(dlsym(RTLD_NEXT, "getaddrinfo"))(host, port, wanted, all);
    const char* count = std::getenv("TEST_ADDRESSES");
    for (int i = 1; result == 0 && count != nullptr && i < std::atoi(count); ++i) {
        const addrinfo& first = **all;
        void* memory = std::malloc(sizeof(addrinfo) + first.ai_addrlen);
        auto* address = reinterpret_cast<sockaddr*>(static_cast<char*>(memory) + sizeof(addrinfo));
        std::memcpy(address, first.ai_addr, first.ai_addrlen);
        auto* more = static_cast<addrinfo*>(memory);
        *more = first;
        more->ai_canonname = nullptr;
        more->ai_addr = address;
        (*all)->ai_next = more;
    }
    return result;
}

int main(int argc, char** argv) {
    try {
        std::unique_ptr<pilfer::cluster::bound<int>> best;
        if (argc > 2) {
            best = std::make_unique<pilfer::cluster::bound<int>>(1);
        }
        pilfer::cluster::session s(argc, argv);
        return s.run(only_here{}) - 1;
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ended by an exception: %s\n", e.what());
        return 1;
    }
}
