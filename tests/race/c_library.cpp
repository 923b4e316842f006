// Races with an access in a function of the C library. run.py wants a report for each marked line.
#include <fcntl.h>
#include <strings.h>
#include <sys/socket.h>
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

namespace {
char name_of_none[] = "none";
} // namespace

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
        char* end = name_of_none;
        keep(std::strtol("12", &end, 99)); // is no base
        if (end != name_of_none) {
            std::abort();
        }
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

// The functions that _FORTIFY_SOURCE calls.
extern "C" {
char* checked_strcpy(char*, const char*, std::size_t) noexcept asm("__strcpy_chk");
char* checked_stpcpy(char*, const char*, std::size_t) noexcept asm("__stpcpy_chk");
char* checked_strncpy(char*, const char*, std::size_t, std::size_t) noexcept asm("__strncpy_chk");
char* checked_stpncpy(char*, const char*, std::size_t, std::size_t) noexcept asm("__stpncpy_chk");
char* checked_strcat(char*, const char*, std::size_t) noexcept asm("__strcat_chk");
char* checked_strncat(char*, const char*, std::size_t, std::size_t) noexcept asm("__strncat_chk");
void* checked_memcpy(void*, const void*, std::size_t, std::size_t) noexcept asm("__memcpy_chk");
void* checked_memmove(void*, const void*, std::size_t, std::size_t) noexcept asm("__memmove_chk");
void* checked_mempcpy(void*, const void*, std::size_t, std::size_t) noexcept asm("__mempcpy_chk");
void* checked_memset(void*, int, std::size_t, std::size_t) noexcept asm("__memset_chk");
int checked_snprintf(char*, std::size_t, int, std::size_t, const char*, ...) asm("__snprintf_chk");
int checked_sprintf(char*, int, std::size_t, const char*, ...) asm("__sprintf_chk");
int checked_vsnprintf(char*, std::size_t, int, std::size_t, const char*, va_list) asm("__vsnprintf_chk");
int checked_vsprintf(char*, int, std::size_t, const char*, va_list) asm("__vsprintf_chk");
ssize_t checked_read(int, void*, std::size_t, std::size_t) asm("__read_chk");
ssize_t checked_pread(int, void*, std::size_t, off_t, std::size_t) asm("__pread_chk");
ssize_t checked_recv(int, void*, std::size_t, std::size_t, int) asm("__recv_chk");
ssize_t checked_recvfrom(int, void*, std::size_t, std::size_t, int, sockaddr*,
                         socklen_t*) asm("__recvfrom_chk");
std::size_t checked_fread(void*, std::size_t, std::size_t, std::size_t, std::FILE*) asm("__fread_chk");
char* checked_fgets(char*, std::size_t, int, std::FILE*) asm("__fgets_chk");
}

namespace {

void print_checked(int n, ...) {
    va_list arguments;
    va_start(arguments, n);
    if (n == 0) {
        keep(checked_vsnprintf(text, 8, 1, 32, "%d %s", arguments)); // races
    } else {
        keep(checked_vsprintf(text, 1, 32, "%d %s", arguments)); // races
    }
    va_end(arguments);
}

/// Two sockets, and bytes on the way to the first one.
class socket_with_bytes {
public:
    socket_with_bytes() {
        (void)!socketpair(AF_UNIX, SOCK_STREAM, 0, m_of);
        (void)!send(m_of[1], "12345678123456781234567812345678", 32, 0);
    }
    socket_with_bytes(const socket_with_bytes&) = delete;
    socket_with_bytes& operator=(const socket_with_bytes&) = delete;
    ~socket_with_bytes() {
        close(m_of[0]);
        close(m_of[1]);
    }
    [[nodiscard]] int number() const { return m_of[0]; }

private:
    int m_of[2] = {-1, -1};
};

template <class F>
void checked_writes(F beside) {
    const device zero("/dev/zero", O_RDONLY);
    const stream ones("/proc/self/comm", "r");
    const socket_with_bytes at;
    iovec parts[] = {{other, 2}, {text, 4}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    beside([] { checked_strcpy(text, "abc", 32); });                      // races
    beside([] { checked_stpcpy(text, "abc", 32); });                      // races
    beside([] { checked_strncpy(text, "a", 4, 32); });                    // races
    beside([] { checked_stpncpy(text, "a", 4, 32); });                    // races
    beside([] { checked_strcat(text, "abc", 32); });                      // races
    beside([] { checked_strncat(text, "abcdef", 2, 32); });               // races
    beside([] { checked_memcpy(text, other, 4, 32); });                   // races
    beside([] { checked_memmove(text, other, 4, 32); });                  // races
    beside([] { checked_mempcpy(text, other, 4, 32); });                  // races
    beside([] { checked_memset(text, 1, 4, 32); });                       // races
    beside([] { keep(checked_snprintf(text, 8, 1, 32, "%d", 12)); });     // races
    beside([] { keep(checked_sprintf(text, 1, 32, "%d %s", 12, "x")); }); // races
    beside([] { print_checked(0, 12, "x"); });
    beside([] { print_checked(1, 12, "x"); });
    beside([&] { keep(checked_read(zero.number(), text, 4, 32)); });                        // races
    beside([&] { keep(checked_pread(zero.number(), text, 4, 0, 32)); });                    // races
    beside([&] { keep(recv(at.number(), text, 4, 0)); });                                   // races
    beside([&] { keep(recvmsg(at.number(), &message, 0)); });                               // races
    beside([&] { keep(checked_recv(at.number(), text, 4, 32, 0)); });                       // races
    beside([&] { keep(checked_recvfrom(at.number(), text, 4, 32, 0, nullptr, nullptr)); }); // races
    beside([&] { keep(checked_fread(text, 32, 1, 2, ones.file())); });                      // races
    beside([&] { keep(checked_fgets(text, 32, 3, ones.file())); });                         // races
}

} // namespace

PLANTED(strings_that_are_checked, "functions of _FORTIFY_SOURCE that write beside a read") {
    checked_writes([](auto write) {
        both(write, [] { keep(std::memcmp(text, other, 12)); }); // races
    });
}
REPAIRED(strings_that_are_checked) {
    checked_writes([](auto write) { both(write, [] { keep(std::memcmp(text + 24, other + 24, 4)); }); });
}
