// Small programs with a planted race, and their repaired twins: see run.py.
#pragma once

#include <string_view>

#include <pilfer/pilfer.hpp>

namespace cases {

struct one {
    one(const char* called, const char* of, void (*with_race)(), void (*without_race)()) noexcept;
    const char* name;
    const char* kind;
    void (*planted)();
    void (*repaired)();
    one* next;
};

/// Keeps the compiler from leaving out how `value` came about.
template <class T>
void keep(const T& value) {
    asm volatile("" : : "r"(&value) : "memory");
}

} // namespace cases

/// PLANTED(name, kind) { a race, between lines marked "races" } REPAIRED(name) { none }
#define PLANTED(name, kind)                                                                                  \
    static void name##_planted();                                                                            \
    static void name##_repaired();                                                                           \
    static const ::cases::one name##_case(#name, kind, &name##_planted, &name##_repaired);                   \
    static void name##_planted()
#define REPAIRED(name) static void name##_repaired()
/// ENDED(name) { a wait for a second worker, without pilfer }: the program is ended with a message.
#define ENDED(name)                                                                                          \
    static void name##_ended();                                                                              \
    static const ::cases::one name##_case(#name, "ended", &name##_ended, &name##_ended);                     \
    static void name##_ended()
/// PROMISES(name, text) { no race that is looked at }: the last line has the text.
#define PROMISES(name, text)                                                                                 \
    static void name##_promises();                                                                           \
    static const ::cases::one name##_case(#name, "promises " text, &name##_promises, &name##_promises);      \
    static void name##_promises()
