// Programs with an error that only some schedules show, each with its repair. Written anew after reports that
// users filed elsewhere, where `origin` names one.
#pragma once

#include "explore/bugs_of_atomics.hpp"
#include "explore/bugs_of_locks.hpp"
#include "explore/bugs_of_waits.hpp"

namespace bugs {

struct bug {
    const char* name;
    const char* origin; ///< Empty: a classic of textbooks.
    void (*body)(bool repaired);
};

inline constexpr bug all[] = {
    {"lost_update", "", &lost_update},
    {"notify_without_lock", "github.com/maplibre/maplibre-native/pull/2636", &notify_without_lock},
    {"lock_order", "github.com/jubatus/jubatus/issues/180", &lock_order},
    {"answer_and_timeout", "github.com/bnoguchi/everyauth/issues/176", &answer_and_timeout},
    {"check_then_insert", "github.com/lostb1t/remux/issues/353", &check_then_insert},
    {"double_checked", "github.com/CharmedBaryon/CommonLibSSE-NG/issues/112", &double_checked},
    {"reused_cell", "github.com/pmodels/argobots/issues/178", &reused_cell},
    {"stop_flag", "github.com/skalenetwork/skaled/issues/410", &stop_flag},
    {"condition_without_loop", "github.com/AccessKit/accesskit/issues/522", &condition_without_loop},
    {"one_condition_for_two", "github.com/nanocurrency/nano-node/pull/2831", &one_condition_for_two},
    {"upgrade_of_readers", "github.com/osquery/osquery/pull/4721", &upgrade_of_readers},
    {"reference_count", "github.com/steinbergmedia/vst3_base/issues/3", &reference_count},
    {"weak_reference", "github.com/drsnuggles8/OloEngineBase/pull/615", &weak_reference},
    {"callback_under_lock", "github.com/pocoproject/poco/issues/5168", &callback_under_lock},
    {"permit_leak", "github.com/AsyncHttpClient/async-http-client/issues/2189", &permit_leak},
    {"double_release", "github.com/mongodb/mongo-java-driver/pull/699", &double_release},
    {"send_after_look", "github.com/gnacho/netpulse/issues/202", &send_after_look},
    {"first_one_closes", "github.com/golang/go/issues/30372", &first_one_closes},
    {"nobody_closes", "", &nobody_closes},
    {"use_after_scope", "", &use_after_scope},
    {"order_of_futures", "", &order_of_futures},
    {"latch_before_work", "", &latch_before_work},
    {"one_barrier_too_few", "", &one_barrier_too_few},
    {"philosophers", "", &philosophers},
    {"slot_for_the_child", "github.com/jwiegley/async-pool/issues/4", &slot_for_the_child},
    {"pulse", "", &pulse},
    {"value_at_the_limit", "", &value_at_the_limit},
    {"index_after_erase", "", &index_after_erase},
    {"handler_after_look", "", &handler_after_look},
    {"torn_read", "", &torn_read},
    {"flag_as_lock", "", &flag_as_lock},
    {"joins_too_late", "", &joins_too_late},
};

} // namespace bugs
