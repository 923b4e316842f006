// wordcount: how often each word of a text occurs. A word is a run of ASCII letters. Each piece of the text
// has a table of its own, whose entries are then dealt out by hash. One task for each part of the hashes adds
// the entries of all pieces.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executors.hpp"
#include "sortlines.hpp"

namespace showcase {

struct counted_word {
    std::string_view text;
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
};

/// Words by hash: open addressing with linear probing, at most half full.
class word_table {
public:
    word_table() : m_slots(1024) {}
    void add(std::string_view text, std::uint64_t hash, std::uint64_t count) {
        std::size_t at = slot_of(hash);
        for (; m_slots[at].count != 0; at = (at + 1) & (m_slots.size() - 1)) {
            if (m_slots[at].hash == hash && m_slots[at].text == text) {
                m_slots[at].count += count;
                return;
            }
        }
        m_slots[at] = {text, hash, count};
        if (++m_used * 2 > m_slots.size())
            grow();
    }
    std::size_t size() const { return m_used; }
    template <class F>
    void for_each(F f) const {
        for (counted_word const& word : m_slots)
            if (word.count != 0)
                f(word);
    }

private:
    std::size_t slot_of(std::uint64_t hash) const { return hash & (m_slots.size() - 1); }
    void grow() {
        std::vector<counted_word> const old =
            std::exchange(m_slots, std::vector<counted_word>(m_slots.size() * 2));
        for (counted_word const& word : old) {
            if (word.count == 0)
                continue;
            std::size_t at = slot_of(word.hash);
            while (m_slots[at].count != 0)
                at = (at + 1) & (m_slots.size() - 1);
            m_slots[at] = word;
        }
    }

    std::vector<counted_word> m_slots;
    std::size_t m_used = 0;
};

template <executor X>
class word_counter {
public:
    /// Reads and counts; words() has the result afterwards. Throws std::system_error, std::runtime_error.
    void operator()(X& runtime, text_source const& source) {
        bool complete = true;
        runtime.run([&] {
            complete = load(source);
            if (!complete)
                return;
            count_pieces();
            m_parts.resize(parts);
            X::for_children(parts, [&](std::size_t part) {
                for (piece const& p : m_pieces)
                    for (std::size_t i = p.begin[part]; i != p.begin[part + 1]; ++i)
                        m_parts[part].add(p.words[i].text, p.words[i].hash, p.words[i].count);
            });
        });
        if (!complete)
            throw std::runtime_error("the text changed while it was read");
    }

    std::size_t bytes() const { return m_size; }
    /// All words in bytewise order.
    std::vector<counted_word> words() const {
        std::vector<counted_word> all;
        for (word_table const& part : m_parts)
            part.for_each([&](counted_word const& word) { all.push_back(word); });
        std::sort(all.begin(), all.end(),
                  [](counted_word const& a, counted_word const& b) { return a.text < b.text; });
        return all;
    }

private:
    static constexpr std::size_t piece_bytes = 1 << 20; // as a chunk of sortlines
    static constexpr std::size_t parts = 64;

    /// The words that begin in one piece of the text, dealt out to the parts of the hashes.
    struct piece {
        std::vector<counted_word> words;
        std::array<std::size_t, parts + 1> begin{}; // where the words of each part begin
    };

    static bool is_letter(char c) {
        char const lower = static_cast<char>(c | 0x20);
        return lower >= 'a' && lower <= 'z';
    }
    static std::size_t part_of(std::uint64_t hash) { return hash >> 58; } // 64 parts

    bool load(text_source const& source) {
        m_size = source.size();
        m_text = std::make_unique_for_overwrite<char[]>(m_size + 1);
        m_text[m_size] = '\n'; // so that the last word has an end
        m_pieces.resize((m_size + piece_bytes - 1) / piece_bytes);
        std::vector<char> good(m_pieces.size(), 0);
        X::for_children(m_pieces.size(), [&](std::size_t i) {
            std::size_t const begin = i * piece_bytes;
            std::size_t const end = std::min(begin + piece_bytes, m_size);
            good[i] = source.read(m_text.get() + begin, begin, end - begin) ? 1 : 0;
        });
        return std::all_of(good.begin(), good.end(), [](char g) { return g != 0; });
    }

    void count_pieces() {
        X::for_children(m_pieces.size(), [&](std::size_t i) {
            word_table table;
            char const* const text = m_text.get();
            char const* at = text + i * piece_bytes;
            char const* const end = text + std::min((i + 1) * piece_bytes, m_size);
            if (i != 0)
                while (at != end && is_letter(*at) && is_letter(at[-1]))
                    ++at; // a word that begins in the piece before
            while (at < end) {
                if (!is_letter(*at)) {
                    ++at;
                    continue;
                }
                char const* const first = at;
                std::uint64_t hash = 14695981039346656037U; // FNV-1a, then mixed: tables use the low bits
                for (; is_letter(*at); ++at)
                    hash = (hash ^ static_cast<unsigned char>(*at)) * 1099511628211U;
                hash = (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15U;
                table.add({first, static_cast<std::size_t>(at - first)}, hash ^ (hash >> 29), 1);
            }
            deal_out(table, m_pieces[i]);
        });
    }

    static void deal_out(word_table const& table, piece& to) {
        table.for_each([&](counted_word const& word) { ++to.begin[part_of(word.hash) + 1]; });
        for (std::size_t part = 0; part < parts; ++part)
            to.begin[part + 1] += to.begin[part];
        to.words.resize(table.size());
        std::array<std::size_t, parts + 1> next = to.begin;
        table.for_each([&](counted_word const& word) { to.words[next[part_of(word.hash)]++] = word; });
    }

    std::size_t m_size = 0;
    std::unique_ptr<char[]> m_text;
    std::vector<piece> m_pieces;
    std::vector<word_table> m_parts;
};

} // namespace showcase
