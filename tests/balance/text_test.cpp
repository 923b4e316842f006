// The names of the policies. Every written one is read again; the error for a wrong one lists the known ones.
#include "balance/text.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/harness.hpp"

namespace {

using namespace support;
using pilfer::balance_options;
using pilfer::exposure;
using pilfer::steal_amount;
using pilfer::victim;
namespace balance = pilfer::balance;

[[nodiscard]] balance_options read(const std::string& text) {
    balance_options o;
    balance::resolve(o, text.c_str());
    return o;
}
[[nodiscard]] bool same(const balance_options& a, const balance_options& b) {
    return a.steal == b.steal && a.victim == b.victim && a.exposure == b.exposure &&
           (a.exposure != exposure::threshold || a.threshold == b.threshold) &&
           (a.exposure != exposure::short_eager || a.eager == b.eager);
}

class policy_names : public guarded {};

TEST_F(policy_names, every_name_is_read_again) {
    const steal_amount amounts[] = {steal_amount::one(),         steal_amount::half(),
                                    steal_amount::part(1, 1),    steal_amount::part(3, 7),
                                    steal_amount::part(2, 4),    steal_amount::part(65'535, 65'536),
                                    steal_amount::all_but_one(), steal_amount::adaptive()};
    const victim victims[] = {victim::random, victim::sticky, victim::ring, victim::nearest, victim::longest};
    std::vector<balance_options> exposures(6);
    exposures[0].exposure = exposure::on_demand;
    exposures[1].exposure = exposure::always_public;
    exposures[2].exposure = exposure::doubling;
    exposures[3].exposure = exposure::waiter_first;
    exposures[4].exposure = exposure::short_eager;
    exposures[4].eager = 65'536;
    exposures[5].exposure = exposure::threshold;
    exposures.push_back(exposures[5]);
    exposures.back().threshold = {.at_least = 1, .below = std::uint64_t{1} << 62, .count = 17};
    exposures.push_back(exposures[5]);
    exposures.back().threshold = {.at_least = 100, .below = 9, .count = 0, .numerator = 5, .denominator = 6};
    for (const auto amount : amounts) {
        for (const auto whom : victims) {
            for (balance_options o : exposures) {
                o.steal = amount;
                o.victim = whom;
                const std::string name = balance::name(o);
                EXPECT_TRUE(same(read(name), o)) << name << " became " << balance::name(read(name));
            }
        }
    }
}

TEST_F(policy_names, names_are_the_documented_ones) {
    EXPECT_EQ(balance::name(read("half,ring,always-public")), "half,ring,always-public");
    EXPECT_EQ(balance::name(read("1/2,longest,short-eager:8")), "half,longest,short-eager:8");
    EXPECT_EQ(balance::name(read("threshold:4:2:1/3,all-but-one,sticky")),
              "all-but-one,sticky,threshold:4:2:1/3");
    EXPECT_EQ(balance::name(read("waiter-first,3/4,nearest")), "3/4,nearest,waiter-first");
    EXPECT_EQ(balance::name(read("adaptive,random,doubling")), "adaptive,random,doubling");
    EXPECT_EQ(balance::name(balance_options{}), "") << "automatic is no name";
}

TEST_F(policy_names, omitted_parts_get_defaults_and_chosen_parts_stay) {
    EXPECT_EQ(balance::name(read("ring")), balance::name(balance::defaults().steal) + ",ring,on-demand");
    balance_options o;
    balance::resolve(o, nullptr);
    EXPECT_TRUE(same(o, balance::defaults()));
    o = {};
    o.exposure = exposure::threshold;
    o.threshold.at_least = 77;
    balance::resolve(o, "all-but-one,threshold:1:1:1");
    EXPECT_EQ(o.threshold.at_least, 77U) << "the program's own choice wins, with its numbers";
    EXPECT_EQ(o.steal, steal_amount::all_but_one());
}

TEST_F(policy_names, the_error_names_the_wrong_one_and_lists_the_known_ones) {
    const struct {
        const char* text;
        const char* says;
    } rows[] = {
        {"", "\"\" is no policy; known are one, half, all-but-one"},
        {"most", "\"most\" is no policy"},
        {"most", "random, sticky, ring, nearest, longest"},
        {"most", "on-demand, always-public, threshold:N:M:A, doubling, short-eager:K, waiter-first"},
        {"half,", "\"\" is no policy"},
        {"half ring", "\"half ring\" is no policy"},
        {"Half", "\"Half\" is no policy"},
        {"automatic", "\"automatic\" is no policy"},
        {"half,one", "\"one\" is a second amount"},
        {"ring,sticky", "\"sticky\" is a second choice of victims"},
        {"doubling,on-demand", "\"on-demand\" is a second exposure"},
        {"0/2", "\"0/2\" is no amount: P/Q needs 1 <= P <= Q <= 65536"},
        {"3/2", "is no amount"},
        {"1/65537", "is no amount"},
        {"1/2/3", "is no amount"},
        {"-1/2", "is no amount"},
        {"/", "is no amount"},
        {"short-eager", "needs a number of tasks: short-eager:K with 1 <= K <= 65536"},
        {"short-eager:0", "needs a number of tasks"},
        {"short-eager:65537", "needs a number of tasks"},
        {"short-eager:4:4", "needs a number of tasks"},
        {"threshold", "needs three numbers: threshold:N:M:A"},
        {"threshold:1:1", "needs three numbers"},
        {"threshold:0:1:1", "needs three numbers"},
        {"threshold:1:1:2/1", "needs three numbers"},
        {"threshold:1:1:4611686018427387905", "needs three numbers"},
        {"threshold:99999999999999999999:1:1", "needs three numbers"},
        {"doubling:2", "is no policy"},
    };
    for (const auto& r : rows) {
        try {
            (void)read(r.text);
            ADD_FAILURE() << "\"" << r.text << "\" was accepted";
        } catch (const std::invalid_argument& e) {
            const std::string what = e.what();
            EXPECT_NE(what.find("PILFER_BALANCE=\"" + std::string(r.text) + "\""), std::string::npos) << what;
            EXPECT_NE(what.find(r.says), std::string::npos) << what;
        }
    }
}

} // namespace
