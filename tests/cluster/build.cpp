// A program of one task, and another build of it with another TEST_BUILD: build [names [LIBRARY]]
// [--pilfer-worker]
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

#include <dlfcn.h>

#include <pilfer/cluster.hpp>

#include "cluster/build.hpp"
#include "cluster/tasks.hpp"

namespace {

struct answer {
    int operator()() const { return 40 + TEST_BUILD; }
};
PILFER_CLUSTER_TASK(answer);

/// The name of a shared library that has a function `answer_of_library`, after that of the executable.
int print_name_of(const char* library) {
    void* file = ::dlopen(library, RTLD_NOW);
    const void* code = file != nullptr ? ::dlsym(file, "answer_of_library") : nullptr;
    if (code == nullptr) {
        std::fprintf(stderr, "%s\n", ::dlerror());
        return 1;
    }
    const std::array<const void*, 2> both{nullptr, code};
    for (const std::string& name : pilfer::detail::builds_with(both)) {
        std::puts(name.c_str());
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    try {
        if (argc > 2 && std::strcmp(argv[1], "names") == 0) {
            return print_name_of(argv[2]);
        }
        if (argc > 1 && std::strcmp(argv[1], "names") == 0) {
            std::puts(pilfer::detail::facts_of_program().build.c_str());
            return 0;
        }
        pilfer::cluster::session s(argc, argv);
        std::printf("answer %d\n", s.run(answer{}));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "ended by an exception: %s\n", e.what());
        return 1;
    }
}
