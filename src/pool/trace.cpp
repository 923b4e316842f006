// The trace of a pool: what its workers' rings hold, written.
#include <pilfer/trace.hpp>

#include <cerrno>
#include <fstream>
#include <system_error>

#include <pilfer/pool.hpp>

#include "pool/figures.hpp"
#include "pool/pool_core.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

void pool_core::write_trace(std::ostream& out) const {
    trace::document d;
    d.begin = m_begin;
    for (unsigned i = 0; i < size(); ++i) {
        const trace::ring* r = at(i).log.traced();
        d.tracks.push_back(r != nullptr ? r->read() : trace::excerpt{});
    }
    // After all events that were read: nothing on a track comes after its end.
    d.end = trace::now();
    d.counters = figures::sum(*this);
    // After the rings, whose events name places by numbers.
    os::source_lines lines;
    for (unsigned i = 0; i < size(); ++i) {
        d.places.push_back(at(i).log.places().sources(lines));
        d.object_names.push_back(at(i).log.object_names());
    }
    trace::write(d, out);
}

} // namespace detail

void write_trace(const pool& p, std::ostream& out) { p.core().write_trace(out); }

void write_trace(const pool& p, const std::string& path) {
    errno = 0;
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    if (out) {
        write_trace(p, out);
        out.close();
    }
    if (!out) {
        throw std::system_error(errno != 0 ? errno : EIO, std::generic_category(),
                                "pilfer: cannot write '" + path + "'");
    }
}

} // namespace v0
} // namespace pilfer
