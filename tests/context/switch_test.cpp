// The switch itself, without a scheduler: the registers that it keeps and the message that it hands over.
#include "context/switch.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cstdint>
#include <memory>

#include <pilfer/detail/base/platform.hpp>

namespace {

#if !defined(PILFER_SANITIZED) // these switches are not announced to a sanitizer

struct pair {
    void* outer = nullptr;
    void* inner = nullptr;
    int rounds = 0;
};

class switching : public testing::Test {
protected:
    [[nodiscard]] void* top() noexcept { return m_stack + sizeof m_stack; }
    pair m_pair;
    alignas(64) std::byte m_stack[64 * 1024];
};

// Twelve integers and ten doubles are more than any instruction set has registers for across a call.
template <class Switch>
[[nodiscard]] PILFER_NOINLINE bool keeps_registers(std::uint64_t seed, Switch&& leave) {
    std::uint64_t a = seed, b = seed + 1, c = seed + 2, d = seed + 3, e = seed + 4, f = seed + 5;
    std::uint64_t g = seed + 6, h = seed + 7, i = seed + 8, j = seed + 9, k = seed + 10, l = seed + 11;
    auto s = static_cast<double>(seed);
    double m = s + 0.5, n = s + 1.5, o = s + 2.5, p = s + 3.5, q = s + 4.5;
    double r = s + 5.5, t = s + 6.5, u = s + 7.5, v = s + 8.5, w = s + 9.5;
    // The compiler must not compute them again afterwards.
    asm volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    asm volatile("" : "+r"(g), "+r"(h), "+r"(i), "+r"(j), "+r"(k), "+r"(l));
#if defined(__x86_64__)
    asm volatile(""
                 : "+x"(m), "+x"(n), "+x"(o), "+x"(p), "+x"(q), "+x"(r), "+x"(t), "+x"(u), "+x"(v), "+x"(w));
#elif defined(__aarch64__)
    asm volatile(""
                 : "+w"(m), "+w"(n), "+w"(o), "+w"(p), "+w"(q), "+w"(r), "+w"(t), "+w"(u), "+w"(v), "+w"(w));
#endif
    leave();
    const std::uint64_t sum = (a ^ seed) + (b ^ (seed + 1)) + (c ^ (seed + 2)) + (d ^ (seed + 3)) +
                              (e ^ (seed + 4)) + (f ^ (seed + 5)) + (g ^ (seed + 6)) + (h ^ (seed + 7)) +
                              (i ^ (seed + 8)) + (j ^ (seed + 9)) + (k ^ (seed + 10)) + (l ^ (seed + 11));
    const bool doubles = m == s + 0.5 && n == s + 1.5 && o == s + 2.5 && p == s + 3.5 && q == s + 4.5 &&
                         r == s + 5.5 && t == s + 6.5 && u == s + 7.5 && v == s + 8.5 && w == s + 9.5;
    return sum == 0 && doubles;
}

TEST_F(switching, keeps_the_registers_of_both_sides) {
    m_pair.rounds = 100;
    const auto inner = [](void* argument) {
        auto& self = *static_cast<pair*>(argument);
        for (;;) {
            const auto round = static_cast<std::uint64_t>(self.rounds);
            if (!keeps_registers(1'000 + round,
                                 [&] { (void)pilfer_v0_switch(&self.inner, self.outer, nullptr); })) {
                self.rounds = -1;
            }
        }
    };
    ASSERT_TRUE(keeps_registers(1, [&] { (void)pilfer_v0_start(&m_pair.outer, top(), inner, &m_pair); }));
    while (m_pair.rounds > 0) {
        ASSERT_TRUE(
            keeps_registers(1, [&] { (void)pilfer_v0_switch(&m_pair.outer, m_pair.inner, nullptr); }));
        --m_pair.rounds;
    }
    EXPECT_EQ(m_pair.rounds, 0) << "the other stack lost a register";
}

TEST_F(switching, hands_the_message_over) {
    const auto inner = [](void* argument) {
        auto& self = *static_cast<pair*>(argument);
        void* message = pilfer_v0_switch(&self.inner, self.outer, &self.outer);
        pilfer_v0_jump(self.outer, message);
    };
    EXPECT_EQ(pilfer_v0_start(&m_pair.outer, top(), inner, &m_pair), &m_pair.outer);
    EXPECT_EQ(pilfer_v0_switch(&m_pair.outer, m_pair.inner, &m_pair.rounds), &m_pair.rounds);
}

TEST_F(switching, keeps_the_rounding_mode_of_both_sides) {
    const auto inner = [](void* argument) {
        auto& self = *static_cast<pair*>(argument);
        std::fesetround(FE_DOWNWARD);
        (void)pilfer_v0_switch(&self.inner, self.outer, nullptr);
        self.rounds = std::fegetround() == FE_DOWNWARD ? 1 : -1;
        pilfer_v0_jump(self.outer, nullptr);
    };
    std::fesetround(FE_UPWARD);
    (void)pilfer_v0_start(&m_pair.outer, top(), inner, &m_pair);
    const int after_start = std::fegetround();
    std::fesetround(FE_TOWARDZERO);
    (void)pilfer_v0_switch(&m_pair.outer, m_pair.inner, nullptr);
    const int after_switch = std::fegetround();
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(after_start, FE_UPWARD);
    EXPECT_EQ(after_switch, FE_TOWARDZERO);
    EXPECT_EQ(m_pair.rounds, 1);
}

TEST_F(switching, starts_on_an_aligned_stack) {
    const auto inner = [](void* argument) {
        auto& self = *static_cast<pair*>(argument);
        alignas(16) char local[16];
        const void* at = local;
        asm volatile("" : "+r"(at));
        self.rounds = static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % 16);
        pilfer_v0_jump(self.outer, nullptr);
    };
    m_pair.rounds = -1;
    (void)pilfer_v0_start(&m_pair.outer, top(), inner, &m_pair);
    EXPECT_EQ(m_pair.rounds, 0);
}

using pilfer::v0::detail::call_on;
using pilfer::v0::detail::continuation;

pair* continued = nullptr;

TEST_F(switching, a_call_on_another_stack_keeps_registers) {
    continuation rest{};
    auto main = [](void*, continuation* c) {
        // As many values as the caller's: they use every register there is.
        return keeps_registers(77, [] { asm volatile("" ::: "memory"); }) ? c : nullptr;
    };
    EXPECT_TRUE(keeps_registers(5, [&] { call_on(top(), &rest, main); }));
}

TEST_F(switching, another_thread_can_take_a_continuation) {
    // The caller of call_on is "stolen": the called function resumes it by pilfer_v0_continue.
    std::fesetround(FE_UPWARD);
    continued = &m_pair;
    continuation rest{};
    int mode = -1;
    auto main = [](void*, continuation* c) -> continuation* {
        std::fesetround(FE_DOWNWARD);
        (void)pilfer_v0_continue(&continued->inner, c);
        ADD_FAILURE() << "nobody switches back";
        return c;
    };
    EXPECT_TRUE(keeps_registers(9, [&] {
        call_on(top(), &rest, main);
        mode = std::fegetround();
    }));
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(mode, FE_UPWARD);
}

#endif

} // namespace
