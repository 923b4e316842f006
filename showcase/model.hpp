// The four programs over a runtime that is a template parameter.
#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "digest.hpp"
#include "executors.hpp"
#include "outcome.hpp"
#include "sortlines.hpp"
#include "treehash.hpp"
#include "uts.hpp"
#include "wordcount.hpp"

namespace showcase {

template <executor X>
outcome run_model(job const& what) {
    X runtime(executor_settings{what.workers, what.stack_size});
    runtime.run([] {}); // threads are made now, outside the measured time

    auto const start = std::chrono::steady_clock::now();
    auto const seconds = [start] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    if (what.program == "treehash") {
        outcome done = treehash(runtime, what.input);
        done.seconds = seconds();
        return done;
    }
    outcome done;
    if (what.program == "uts") {
        done.items = uts_nodes(runtime, what.input);
        done.seconds = seconds();
        done.result = std::to_string(done.items);
        return done;
    }
    if (what.program == "sortlines") {
        line_sorter<X> sorter;
        sorter(runtime, text_source(what.input));
        done.seconds = seconds();
        done.items = sorter.lines();
        done.bytes = sorter.text().size();
        sha256 digest;
        digest.update(sorter.text());
        done.result = digest.hex();
        return done;
    }
    if (what.program == "wordcount") {
        word_counter<X> counter;
        counter(runtime, text_source(what.input));
        done.seconds = seconds();
        done.bytes = counter.bytes();
        sha256 digest; // of the lines "<count> <word>"
        for (counted_word const& word : counter.words()) {
            digest.update(std::to_string(word.count) + ' ' + std::string(word.text) + '\n');
            ++done.items;
        }
        done.result = digest.hex();
        return done;
    }
    throw std::invalid_argument("no program is called " + what.program);
}

} // namespace showcase
