#include "check/ledger.hpp"

#if defined(PILFER_TEST)

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "platform/os.hpp"
#include "platform/whole_program.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// One entry. Its length counts when it is complete.
class ledger::writer {
public:
    writer(ledger& to, kind k) noexcept
        : m_to(to), m_end(to.m_head->length.load(std::memory_order_relaxed)),
          m_fits(!to.m_is_full && to.m_writer == os::process_id()) {
        put(&k, sizeof k);
    }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;
    ~writer() {
        if (m_fits) {
            m_to.m_head->length.store(m_end, std::memory_order_release);
        } else {
            m_to.m_is_full = true;
        }
    }
    template <class T>
    void value(const T& v) noexcept {
        put(&v, sizeof v);
    }
    void text(std::string_view t) noexcept {
        value(t.size());
        put(t.data(), t.size());
    }

private:
    void put(const void* from, std::size_t bytes) noexcept {
        m_fits = m_fits && m_to.m_most - m_end >= bytes;
        if (m_fits) {
            std::memcpy(m_to.m_at + m_end, from, bytes);
            m_end += bytes;
        }
    }
    ledger& m_to;
    std::uint64_t m_end;
    bool m_fits;
};

class ledger::reader {
public:
    reader(const char* from, std::uint64_t bytes) noexcept : m_at(from), m_end(from + bytes) {}
    /// True also if the rest is no entry: a child that crashed may have written here.
    [[nodiscard]] bool at_end() const noexcept { return m_at == m_end; }
    template <class T>
    void value(T& v) noexcept {
        if (has(sizeof v)) {
            std::memcpy(&v, m_at, sizeof v);
            m_at += sizeof v;
        }
    }
    void text(std::string& t) {
        std::size_t bytes = 0;
        value(bytes);
        if (has(bytes)) {
            t.assign(m_at, bytes);
            m_at += bytes;
        }
    }
    void leave() noexcept { m_at = m_end; }

private:
    [[nodiscard]] bool has(std::size_t bytes) noexcept {
        if (static_cast<std::size_t>(m_end - m_at) >= bytes) {
            return true;
        }
        leave();
        return false;
    }
    const char* m_at;
    const char* m_end;
};

ledger::ledger(std::size_t bytes) : m_most(bytes - sizeof *m_head) {
    void* const memory = os::shared_memory(bytes);
    if (memory == nullptr) {
        throw std::bad_alloc();
    }
    m_head = new (memory) head;
    m_at = static_cast<char*>(memory) + sizeof *m_head;
}

void ledger::is_written_here() noexcept { m_writer = os::process_id(); }

void ledger::chose(const choice& c) noexcept {
    writer w(*this, kind::choice);
    w.value(c.index);
    w.value(c.among);
    w.value(c.rarity);
}

void ledger::stepped(const trace_step& s) noexcept {
    writer w(*this, kind::step);
    w.value(s.task);
    w.text(s.name);
    w.text(s.what);
    w.value(s.other);
    w.value(s.frames);
    w.value(s.depth);
    w.value(s.hash);
}

void ledger::ended(const run_report& r) noexcept {
    {
        writer w(*this, kind::report);
        w.value(r.how);
        w.text(r.message);
        w.value(r.abandoned);
        w.value(r.hash);
    }
    m_head->is_over.store(true, std::memory_order_release);
}

ledger::entries ledger::read() const {
    entries all;
    reader r(m_at, std::min(m_head->length.load(std::memory_order_acquire), m_most));
    while (!r.at_end()) {
        kind k{};
        r.value(k);
        switch (k) {
        case kind::choice: {
            choice c{};
            r.value(c.index);
            r.value(c.among);
            r.value(c.rarity);
            all.taken.push_back(c);
            break;
        }
        case kind::step: {
            trace_step s{};
            r.value(s.task);
            r.text(s.name);
            r.text(s.what);
            r.value(s.other);
            r.value(s.frames);
            r.value(s.depth);
            r.value(s.hash);
            all.steps.push_back(std::move(s));
            break;
        }
        case kind::report: {
            run_report& report = all.report.emplace();
            r.value(report.how);
            r.text(report.message);
            r.value(report.abandoned);
            r.value(report.hash);
            break;
        }
        default:
            r.leave();
        }
    }
    return all;
}

} // namespace detail
} // namespace v0
} // namespace pilfer

#endif
