// Probes for tracers of the system (USDT): bpftrace, perf, gdb and SystemTap find them by name.
//
// A probe is one `nop`, and a note with its place and the places of its arguments. So probes are only on slow
// paths, and their arguments are values that are at hand. docs/debugging.md lists them. Without <sys/sdt.h>
// they are nothing but a use of their arguments, which have no effects.
#pragma once

#if defined(PILFER_USDT)
#include <sys/sdt.h>

#define PILFER_PROBE0(name) STAP_PROBE(pilfer, name)
#define PILFER_PROBE1(name, a) STAP_PROBE1(pilfer, name, a)
#define PILFER_PROBE2(name, a, b) STAP_PROBE2(pilfer, name, a, b)
#define PILFER_PROBE3(name, a, b, c) STAP_PROBE3(pilfer, name, a, b, c)
#define PILFER_PROBE4(name, a, b, c, d) STAP_PROBE4(pilfer, name, a, b, c, d)
#else
#define PILFER_PROBE0(name) static_cast<void>(0)
#define PILFER_PROBE1(name, a) static_cast<void>(a)
#define PILFER_PROBE2(name, a, b) (static_cast<void>(a), static_cast<void>(b))
#define PILFER_PROBE3(name, a, b, c) (static_cast<void>(a), static_cast<void>(b), static_cast<void>(c))
#define PILFER_PROBE4(name, a, b, c, d)                                                                      \
    (static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(d))
#endif
