// sortlines: the lines of a text in bytewise order. A model with a sort of its own uses that. The others have
// a merge sort whose merges are parallel too: the median of the longer half is looked up in the shorter one,
// and both sides of the cut merge at once (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, 3rd
// edition, section 27.3).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "executors.hpp"
#include "outcome.hpp"

namespace showcase {

/// An open file that is read in pieces. Throws std::system_error.
class text_source {
public:
    explicit text_source(std::string const& path);
    ~text_source();
    text_source(text_source const&) = delete;
    text_source& operator=(text_source const&) = delete;
    std::size_t size() const noexcept { return m_size; }
    /// Fills the whole range; false when the file cannot give it.
    bool read(char* to, std::size_t offset, std::size_t bytes) const noexcept;

private:
    int m_descriptor = -1;
    std::size_t m_size = 0;
};

template <executor X>
class line_sorter {
public:
    /// Reads, splits, sorts; the sorted text is in text() afterwards. Throws std::system_error,
    /// std::runtime_error.
    void operator()(X& runtime, text_source const& source) {
        bool complete = true;
        runtime.run([&] {
            complete = load(source);
            if (!complete)
                return;
            split();
            if constexpr (requires(std::string_view * line) { X::sort(line, line); }) {
                X::sort(m_line.get(), m_line.get() + m_lines);
            } else {
                m_scratch = std::make_unique_for_overwrite<std::string_view[]>(m_lines);
                sort(m_line.get(), m_scratch.get(), m_lines);
                m_scratch.reset();
            }
            gather();
        });
        if (!complete)
            throw std::runtime_error("the text changed while it was read");
    }

    std::string_view text() const { return {m_output.get(), m_size}; }
    std::size_t lines() const { return m_lines; }

private:
    // Large enough that the fork is not seen, small enough that 200 MB are 200 tasks.
    static constexpr std::size_t chunk_bytes = 1 << 20;
    // Fits into the second-level cache with the heads of its lines.
    static constexpr std::size_t sort_alone = 2048;
    static constexpr std::size_t merge_alone = 4096;
    static constexpr std::size_t gather_lines = 16384;

    struct chunk {
        std::size_t lines = 0;      // Lines that end in this chunk.
        std::size_t first = 0;      // Number of the first of them.
        std::size_t line_start = 0; // Its first byte: after the last newline before the chunk.
        std::size_t behind = 0;     // The byte after the last newline in the chunk.
    };

    bool load(text_source const& source) {
        m_size = source.size();
        m_text = std::make_unique_for_overwrite<char[]>(m_size + 1);
        m_chunks.assign((m_size + chunk_bytes - 1) / chunk_bytes, {});
        std::vector<char> good(m_chunks.size(), 0);
        X::for_children(m_chunks.size(), [&](std::size_t i) {
            std::size_t const begin = i * chunk_bytes;
            std::size_t const end = std::min(begin + chunk_bytes, m_size);
            good[i] = source.read(m_text.get() + begin, begin, end - begin) ? 1 : 0;
            if (good[i] != 0)
                count(m_chunks[i], begin, end);
        });
        if (m_size > 0 && m_text[m_size - 1] != '\n') {
            // As `sort` does, an unfinished last line gets its newline. The buffer has room for it.
            m_text[m_size++] = '\n';
            chunk& last = m_chunks.back();
            ++last.lines;
            last.behind = m_size;
        }
        return std::all_of(good.begin(), good.end(), [](char g) { return g != 0; });
    }

    void count(chunk& c, std::size_t begin, std::size_t end) const {
        char const* const stop = m_text.get() + end;
        for (char const* at = m_text.get() + begin; (at = newline(at, stop)) != nullptr;) {
            ++c.lines;
            ++at;
            c.behind = static_cast<std::size_t>(at - m_text.get());
        }
    }

    static char const* newline(char const* from, char const* stop) {
        if (from == stop)
            return nullptr;
        return static_cast<char const*>(std::memchr(from, '\n', static_cast<std::size_t>(stop - from)));
    }

    void split() {
        m_lines = 0;
        std::size_t behind = 0;
        for (chunk& c : m_chunks) {
            c.first = m_lines;
            c.line_start = behind;
            m_lines += c.lines;
            if (c.lines > 0)
                behind = c.behind;
        }
        m_line = std::make_unique_for_overwrite<std::string_view[]>(m_lines);
        X::for_children(m_chunks.size(), [&](std::size_t i) {
            chunk const& c = m_chunks[i];
            char const* start = m_text.get() + c.line_start;
            char const* const stop = m_text.get() + m_size;
            // The search starts inside the chunk: the line before it has no newline there, only in this one.
            char const* at = std::max(start, static_cast<char const*>(m_text.get()) + i * chunk_bytes);
            for (std::size_t k = 0; k < c.lines; ++k) {
                at = newline(at, stop);
                m_line[c.first + k] = {start, static_cast<std::size_t>(at - start)};
                start = ++at;
            }
        });
    }

    // Sorts in place, with scratch of the same length.
    static void sort(std::string_view* data, std::string_view* scratch, std::size_t n) {
        if (n <= sort_alone) {
            std::sort(data, data + n);
            return;
        }
        std::size_t const half = n / 2;
        X::fork2([=] { sort_into(data, scratch, half); },
                 [=] { sort_into(data + half, scratch + half, n - half); });
        merge(scratch, half, scratch + half, n - half, data);
    }

    // Sorts `data` into `to`; `data` is scratch then. The halves go the other way, so nothing is copied back.
    static void sort_into(std::string_view* data, std::string_view* to, std::size_t n) {
        if (n <= sort_alone) {
            std::sort(data, data + n);
            std::copy(data, data + n, to);
            return;
        }
        std::size_t const half = n / 2;
        X::fork2([=] { sort(data, to, half); }, [=] { sort(data + half, to + half, n - half); });
        merge(data, half, data + half, n - half, to);
    }

    static void merge(std::string_view const* a, std::size_t na, std::string_view const* b, std::size_t nb,
                      std::string_view* to) {
        if (na + nb <= merge_alone) {
            std::merge(a, a + na, b, b + nb, to);
            return;
        }
        if (na < nb) {
            std::swap(a, b);
            std::swap(na, nb);
        }
        std::size_t const ma = na / 2;
        auto const mb = static_cast<std::size_t>(std::lower_bound(b, b + nb, a[ma]) - b);
        X::fork2([=] { merge(a, ma, b, mb, to); },
                 [=] { merge(a + ma, na - ma, b + mb, nb - mb, to + ma + mb); });
    }

    void gather() {
        std::size_t const parts = (m_lines + gather_lines - 1) / gather_lines;
        std::vector<std::size_t> offset(parts + 1, 0);
        auto const part = [this](std::size_t i) {
            return std::pair(m_line.get() + i * gather_lines,
                             m_line.get() + std::min((i + 1) * gather_lines, m_lines));
        };
        X::for_children(parts, [&](std::size_t i) {
            auto const [first, last] = part(i);
            for (std::string_view const* line = first; line != last; ++line)
                offset[i + 1] += line->size() + 1;
        });
        for (std::size_t i = 0; i < parts; ++i)
            offset[i + 1] += offset[i];
        m_output = std::make_unique_for_overwrite<char[]>(m_size);
        X::for_children(parts, [&](std::size_t i) {
            auto const [first, last] = part(i);
            char* to = m_output.get() + offset[i];
            for (std::string_view const* line = first; line != last; ++line) {
                if (!line->empty())
                    std::memcpy(to, line->data(), line->size());
                to += line->size();
                *to++ = '\n';
            }
        });
    }

    std::size_t m_size = 0;
    std::size_t m_lines = 0;
    std::unique_ptr<char[]> m_text;
    std::unique_ptr<char[]> m_output;
    std::unique_ptr<std::string_view[]> m_line;
    std::unique_ptr<std::string_view[]> m_scratch;
    std::vector<chunk> m_chunks;
};

} // namespace showcase
