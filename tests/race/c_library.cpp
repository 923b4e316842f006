// Races of which one access is in a function of the C library. run.py wants a report for each marked line.
#include <fcntl.h>
#include <strings.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <locale>
#include <sstream>
#include <string>

#include "cases.hpp"

using cases::keep;

namespace {

char text[32];
char other[32];

template <class F, class G>
void both(F f, G g) {
    std::strcpy(text, "1234567");
    std::strcpy(other, "1234567");
    pilfer::join(f, g);
}

template <class F>
void reads_strings(F beside) {
    beside([] { keep(std::strlen(text)); });              // races
    beside([] { keep(strnlen(text, 8)); });               // races
    beside([] { keep(std::strcmp(text, other)); });       // races
    beside([] { keep(std::strcmp(other, text)); });       // races
    beside([] { keep(std::strncmp(text, other, 4)); });   // races
    beside([] { keep(strcasecmp(text, other)); });        // races
    beside([] { keep(strncasecmp(text, other, 4)); });    // races
    beside([] { keep(std::memcmp(text, other, 4)); });    // races
    beside([] { keep(std::memcmp(other, text, 4)); });    // races
    beside([] { keep(std::memchr(text, '4', 8)); });      // races
    beside([] { keep(std::strchr(text, '4')); });         // races
    beside([] { keep(std::strrchr(text, '2')); });        // races
    beside([] { keep(std::strstr(text, "34")); });        // races
    beside([] { keep(std::strpbrk(text, "74")); });       // races
    beside([] { keep(std::strspn(text, "123")); });       // races
    beside([] { keep(std::strcspn(text, "4")); });        // races
    beside([] { std::free(strdup(text)); });              // races
    beside([] { std::free(strndup(text, 4)); });          // races
    beside([] { keep(std::strtol(text, nullptr, 10)); }); // races
    beside([] { keep(std::strtod(text, nullptr)); });     // races
    beside([] { keep(std::atoi(text)); });                // races
    beside([] { std::strcpy(other, text); });             // races
    beside([] { std::strncpy(other, text, 4); });         // races
    beside([] { std::strcat(other, text); });             // races
    beside([] { std::strncat(other, text, 4); });         // races
    beside([] { std::memcpy(other, text, 4); });          // races
    beside([] { stpcpy(other, text); });                  // races
}

} // namespace

PLANTED(strings_that_are_written, "functions that read a string beside a write of its characters") {
    reads_strings([](auto read) {
        both(read, [] { text[2] = '3'; }); // races
    });
}
REPAIRED(strings_that_are_written) {
    reads_strings([](auto read) { both(read, [] { text[16] = '3'; }); });
}

namespace {

int print(char* to, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n = std::vsnprintf(to, 8, format, arguments); // races
    va_end(arguments);
    return n;
}

int ascending(const void* a, const void* b) {
    return *static_cast<const char*>(a) - *static_cast<const char*>(b);
}

template <class F>
void writes_strings(F beside) {
    beside([] { std::strcpy(text, "abc"); });               // races
    beside([] { stpcpy(text, "abc"); });                    // races
    beside([] { std::strncpy(text, "a", 4); });             // races
    beside([] { std::strcat(text, "abc"); });               // races
    beside([] { std::strncat(text, "abcdef", 2); });        // races
    beside([] { mempcpy(text, other, 4); });                // races
    beside([] { bzero(text, 4); });                         // races
    beside([] { keep(std::snprintf(text, 8, "%d", 12)); }); // races
    beside([] { keep(std::sprintf(text, "%d", 1234)); });   // races
    beside([] { keep(print(text, "%d", 1234)); });
    beside([] { std::qsort(text, 7, 1, &ascending); }); // races
}

} // namespace

PLANTED(strings_that_are_read, "functions that write a string beside a read of its characters") {
    writes_strings([](auto write) {
        both(write, [] { keep(std::memcmp(text, other, 12)); }); // races
    });
}
REPAIRED(strings_that_are_read) {
    writes_strings([](auto write) { both(write, [] { keep(std::memcmp(text + 16, other + 16, 12)); }); });
}

namespace {

/// A file that is open as long as this object lives.
class device {
public:
    device(const char* name, int mode) : m_number(open(name, mode)) {}
    device(const device&) = delete;
    device& operator=(const device&) = delete;
    ~device() { close(m_number); }
    [[nodiscard]] int number() const { return m_number; }

private:
    int m_number;
};
class stream {
public:
    stream(const char* name, const char* mode) : m_file(std::fopen(name, mode)) {}
    stream(const stream&) = delete;
    stream& operator=(const stream&) = delete;
    ~stream() { (void)std::fclose(m_file); }
    [[nodiscard]] std::FILE* file() const { return m_file; }

private:
    std::FILE* m_file;
};

template <class F>
void gets(F beside) {
    const device zero("/dev/zero", O_RDONLY);
    const stream ones("/proc/self/comm", "r");
    const iovec parts[] = {{other, 2}, {text, 4}};
    beside([&] { keep(read(zero.number(), text, 4)); });        // races
    beside([&] { keep(pread(zero.number(), text, 4, 0)); });    // races
    beside([&] { keep(readv(zero.number(), parts, 2)); });      // races
    beside([&] { keep(std::fread(text, 1, 2, ones.file())); }); // races
    beside([&] { keep(std::fgets(text, 3, ones.file())); });    // races
}

} // namespace

PLANTED(bytes_that_come, "functions that read a file into memory beside a write of it") {
    gets([](auto get) {
        both(get, [] { text[1] = '2'; }); // races
    });
}
REPAIRED(bytes_that_come) {
    gets([](auto get) { both(get, [] { text[9] = '2'; }); });
}

namespace {

template <class F>
void puts_bytes(F beside) {
    const device null("/dev/null", O_WRONLY);
    const stream nothing("/dev/null", "w");
    const iovec parts[] = {{other, 2}, {text, 4}};
    beside([&] { keep(write(null.number(), text, 4)); });           // races
    beside([&] { keep(pwrite(null.number(), text, 4, 0)); });       // races
    beside([&] { keep(writev(null.number(), parts, 2)); });         // races
    beside([&] { keep(std::fwrite(text, 1, 4, nothing.file())); }); // races
    beside([&] { keep(std::fputs(text, nothing.file())); });        // races
}

} // namespace

PLANTED(bytes_that_go, "functions that write memory to a file beside a write of it") {
    puts_bytes([](auto put) {
        both(put, [] { text[1] = '2'; }); // races
    });
}
REPAIRED(bytes_that_go) {
    puts_bytes([](auto put) { both(put, [] { text[9] = '2'; }); });
}

// Parts of the standard library that use these functions, and share nothing that the program can see.
PROMISES(streams_and_strings, "no race in the order of this run") {
    pilfer::for_each(0, 40, [](int i) {
        std::ostringstream out;
        out << i << ' ' << 1.5 * i << ' ' << true << ' ' << std::string(40, 'x') << "text\n";
        std::istringstream in(out.str());
        int whole = 0;
        double part = 0;
        std::string word;
        in >> whole >> part >> word;
        std::string line;
        std::getline(std::istringstream("a line\n") >> std::ws, line);
        keep(std::to_string(part) + line + std::locale().name());
        keep(std::stoi("12") + std::stod("1.5") + whole);
        try {
            keep(std::stoi("none"));
        } catch (const std::exception& e) {
            keep(std::string(e.what()));
        }
        char name[20];
        std::snprintf(name, sizeof name, "%s %d", line.c_str(), i);
        keep(line.compare(name) + int(line.find(name)));
        keep(dynamic_cast<std::ostream*>(static_cast<std::ios*>(&in)));
    });
}
