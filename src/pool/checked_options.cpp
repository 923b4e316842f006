#include "pool/checked_options.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "balance/text.hpp"
#include "machine/plan.hpp"
#include "platform/cpus.hpp"
#include "platform/os.hpp"
#include "platform/pressure.hpp"
#include "platform/signal_thread.hpp"
#include "pool/environment.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

void check_range(const char* field, std::size_t value, std::size_t least, std::size_t most,
                 const char* besides = "") {
    if (value < least || value > most) {
        throw std::invalid_argument(std::string("pilfer: options.") + field + " must be from " +
                                    std::to_string(least) + " to " + std::to_string(most) + besides +
                                    ", not " + std::to_string(value));
    }
}

constexpr std::size_t least_traced = 64;
constexpr std::size_t most_traced = std::size_t{1} << 24;
constexpr std::size_t traced_by_environment = std::size_t{1} << 16;

/// A recording pool has one worker. If the environment asks for recording, it overrules options.workers. If
/// the program asks for it with more workers, the contradiction is an error.
void choose_profile(options& o, const pool_core::paths& files) {
    if (profiled(files)) {
        o.debug.profile = true;
    } else if (o.debug.profile && o.workers > 1) {
        throw std::invalid_argument(
            "pilfer: options.debug.profile records one worker: options.workers must be 0 or "
            "1 with it, not " +
            std::to_string(o.workers));
    }
    if (o.debug.profile) {
        o.workers = 1;
    }
}

/// If options.backend is automatic, PILFER_BACKEND chooses the backend.
void choose_backend(options& o) {
    check_range("backend", static_cast<std::size_t>(o.backend), 0, 2);
    if (o.backend == pilfer::backend::automatic) {
        const char* name = std::getenv("PILFER_BACKEND");
        const std::string_view word = name != nullptr ? name : "work_stealing";
        if (word != "work_stealing" && word != "one_lock") {
            throw std::invalid_argument("pilfer: PILFER_BACKEND must be work_stealing or one_lock, not \"" +
                                        std::string(word) + '"');
        }
        o.backend = word == "one_lock" ? pilfer::backend::one_lock : pilfer::backend::work_stealing;
    }
    if (o.backend != pilfer::backend::one_lock) {
        return;
    }
    if (o.debug.profile) {
        throw std::invalid_argument("pilfer: a pool with backend one_lock cannot record: "
                                    "options.debug.profile and PILFER_PROFILE need "
                                    "work_stealing");
    }
    if (o.resume == resume::elsewhere) {
        throw std::invalid_argument(
            "pilfer: options.resume must not be elsewhere with backend one_lock, whose tasks never move");
    }
    if (o.when_full != when_full::grow) {
        throw std::invalid_argument(
            "pilfer: options.when_full must be grow with backend one_lock, whose queue has no bound");
    }
    o.resume = resume::own_thread;
}

/// A frame that began in a guest slot must be able to resume anywhere. A pool on one lock has no guest slots
/// and blocks its guests.
void check_attachable(const options& o) {
    if (o.attachable != 0 && o.resume != resume::anywhere && o.backend != pilfer::backend::one_lock) {
        throw std::invalid_argument("pilfer: options.attachable must be 0 unless options.resume is anywhere");
    }
}

/// Rejects or disables options that need more threads than the workers, if options.only_workers is set. The
/// environment is not read in that case: see choose_governor() and written_files().
void choose_helpers(options& o) {
    if (!o.only_workers) {
        return;
    }
    if (o.governor == governing::on || o.advice || o.debug.dump_signal != 0) {
        throw std::invalid_argument("pilfer: options.governor must not be on, and options.advice and "
                                    "options.debug.dump_signal must be unset, with options.only_workers");
    }
    o.max_extra_workers = 0;
    o.governor = governing::off;
}

void choose_governor(options& o) {
    if (o.governor == governing::automatic) {
        const char* text = std::getenv("PILFER_GOVERNOR");
        const std::string_view word = text != nullptr ? text : "off";
        if (word != "off" && word != "on") {
            throw std::invalid_argument("pilfer: PILFER_GOVERNOR must be off or on, not \"" +
                                        std::string(word) + '"');
        }
        o.governor = word == "on" ? governing::on : governing::off;
    }
    if (o.governor == governing::on && !os::waited_ns("", os::thread_id())) {
        o.governor = governing::off;
    }
}

} // namespace

pool_core::paths written_files(bool only_workers) noexcept {
    if (os::has_added_rights()) {
        return {};
    }
    return {std::getenv("PILFER_TRACE"), std::getenv("PILFER_PROFILE"), std::getenv("PILFER_PROFILE_GRAPH"),
            only_workers ? nullptr : std::getenv("PILFER_ADVICE")};
}

bool profiled(const pool_core::paths& files) noexcept {
    return files.profile != nullptr || files.graph != nullptr;
}

options checked_options(const options& asked, const pool_core::paths& files) {
    options o = asked;
    if (o.workers != 0) {
        check_range("workers", o.workers, 1, 4096, " (or 0 for automatic)");
    }
    choose_profile(o, files);
#if defined(PILFER_RACE)
    o.workers = 1; // the order of the run is that of a serial program
    o.max_workers = 1;
#endif
    if (o.workers == 0) {
        o.workers = os::automatic_workers();
        if (o.max_workers != 0) {
            o.workers = std::min(o.workers, o.max_workers);
        }
    }
    if (o.stack_size == 0) {
        o.stack_size = stack_from(std::getenv("PILFER_STACK"));
    }
    check_range("stack_size", o.stack_size, least_stack, most_stack, " (or 0 for automatic)");
    check_range("spin", static_cast<std::size_t>(o.spin), 0, 3);
    if (o.spin == idle::automatic) {
        o.spin = spin_from(std::getenv("PILFER_SPIN"));
    }
    check_range("max_extra_workers", o.max_extra_workers, 0, 4096);
    if (o.max_workers == 0) {
        o.max_workers = o.workers;
    }
    check_range("max_workers", o.max_workers, o.workers, 4096, " (or 0 for as many as the pool begins with)");
    check_range("attachable", o.attachable, 0, 64);
    check_range("max_contexts", o.max_contexts, 0, std::size_t{1} << 31);
    check_range("balance.exposure", static_cast<std::size_t>(o.balance.exposure), 0, 6);
    check_range("balance.victim", static_cast<std::size_t>(o.balance.victim), 0, 5);
    check_range("balance.steal.what", static_cast<std::size_t>(o.balance.steal.what), 0, 4);
    check_range("balance.steal.denominator", o.balance.steal.denominator, 1, 65'536);
    check_range("balance.steal.numerator", o.balance.steal.numerator, 1, o.balance.steal.denominator);
    check_range("balance.threshold.at_least", o.balance.threshold.at_least, 1, std::size_t{1} << 62);
    check_range("balance.threshold.below", o.balance.threshold.below, 1, std::size_t{1} << 62);
    check_range("balance.threshold.count", o.balance.threshold.count, 0, std::size_t{1} << 62);
    check_range("balance.threshold.denominator", o.balance.threshold.denominator, 1, 65'536);
    check_range("balance.threshold.numerator", o.balance.threshold.numerator, 1,
                o.balance.threshold.denominator);
    check_range("balance.eager", o.balance.eager, 1, 65'536);
    balance::resolve(o.balance, std::getenv("PILFER_BALANCE"));
    check_range("pin", static_cast<std::size_t>(o.pin), 0, 3);
    if (o.pin == pinning::automatic) {
        o.pin = machine::pinning_from(std::getenv("PILFER_PIN"));
    }
    check_range("governor", static_cast<std::size_t>(o.governor), 0, 2);
    choose_helpers(o);
    choose_governor(o);
    check_thread_name(o.name);
    if (o.priority < -20 || o.priority > 19) {
        throw std::invalid_argument("pilfer: options.priority must be from -20 to 19, not " +
                                    std::to_string(o.priority));
    }
    check_range("resume", static_cast<std::size_t>(o.resume), 0, 2);
    choose_backend(o);
    check_attachable(o);
    check_range("balance.unshare", static_cast<std::size_t>(o.balance.unshare), 0, 1);
    if (o.debug.trace_events != 0) {
        check_range("debug.trace_events", o.debug.trace_events, least_traced, most_traced,
                    " and a power of two (or 0 for none)");
        if (!std::has_single_bit(o.debug.trace_events)) {
            throw std::invalid_argument("pilfer: options.debug.trace_events must be a power of two from " +
                                        std::to_string(least_traced) + " to " + std::to_string(most_traced) +
                                        ", not " + std::to_string(o.debug.trace_events));
        }
    } else if (files.trace != nullptr) {
        o.debug.trace_events = traced_by_environment;
    }
    o.debug.count_all = o.debug.count_all || checked_build; // the sums are checked at the end
    check_range("queue_capacity", o.queue_capacity, 1, std::size_t{1} << 31);
    check_range("when_full", static_cast<std::size_t>(o.when_full), 0, 2);
    check_range("debug.stall_report", o.debug.stall_report, 0, 86'400'000);
    if (o.debug.dump_signal != 0 && !os::usable_signal(o.debug.dump_signal)) {
        throw std::invalid_argument(
            "pilfer: options.debug.dump_signal must be 0 or, from 1 to 64, a signal that can "
            "be caught and is no fault, not " +
            std::to_string(o.debug.dump_signal));
    }
    return o;
}

} // namespace detail
} // namespace v0
} // namespace pilfer
