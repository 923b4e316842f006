// Rings at other ranks by datagrams.
#include "jobqueue/rank_bell.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <pilfer/cluster/archive.hpp>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

/// An address of an interface, in the order of the network.
struct interface_address {
    std::uint32_t address;
    std::uint32_t mask;
};
/// Where a rank hears.
struct place {
    std::string machine;    // ranks with the same one reach each other by the loopback address
    std::uint16_t port = 0; // 0: nowhere
    std::vector<interface_address> interfaces;
};
void serialize(cluster::archive& a, place& p) { a(p.machine, p.port, p.interfaces); }

[[nodiscard]] place place_of(std::span<const std::byte> bytes) {
    cluster::archive in(bytes);
    auto p = in.take<place>();
    in.end();
    return p;
}

/// The running kernel and the namespace of its network: containers of one machine may have several.
[[nodiscard]] std::string this_machine() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat space {};
    (void)::stat("/proc/self/ns/net", &space);
    return boot + "/" + std::to_string(space.st_ino);
}

/// Of IPv4, without loopback.
[[nodiscard]] std::vector<interface_address> interfaces() {
    std::vector<interface_address> found;
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return found;
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, &::freeifaddrs);
    const auto number = [](const sockaddr* a) {
        return reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr;
    };
    for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr != nullptr && i->ifa_netmask != nullptr && i->ifa_addr->sa_family == AF_INET &&
            (i->ifa_flags & IFF_UP) != 0 && (i->ifa_flags & IFF_LOOPBACK) == 0) {
            found.push_back({number(i->ifa_addr), number(i->ifa_netmask)});
        }
    }
    return found;
}

/// The address by which `here` reaches `there`; 0: none. One of a common network comes first. Networks
/// inside of each machine may have the same address on both.
[[nodiscard]] std::uint32_t address_between(const place& here, const place& there) {
    if (here.machine == there.machine) {
        return htonl(INADDR_LOOPBACK);
    }
    std::uint32_t any = 0;
    for (const interface_address& to : there.interfaces) {
        const auto& mine = here.interfaces;
        if (std::ranges::any_of(mine, [&](const auto& i) { return i.address == to.address; })) {
            continue;
        }
        if (std::ranges::any_of(
                mine, [&](const auto& i) { return (i.address & i.mask) == (to.address & i.mask); })) {
            return to.address;
        }
        any = any == 0 ? to.address : any;
    }
    return any;
}

} // namespace

rank_bell::rank_bell() : m_socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    socklen_t size = sizeof any;
    auto* const address = reinterpret_cast<sockaddr*>(&any);
    if (m_socket >= 0 && ::bind(m_socket, address, size) == 0 &&
        ::getsockname(m_socket, address, &size) == 0) {
        m_port = any.sin_port;
        m_sleep.watch(0, m_socket, false);
    }
}

rank_bell::~rank_bell() {
    if (m_socket >= 0) {
        ::close(m_socket);
    }
}

std::vector<std::byte> rank_bell::address() const {
    cluster::archive out;
    out.put(place{this_machine(), m_port, interfaces()});
    return std::move(out.bytes());
}

void rank_bell::meet(const std::vector<std::vector<std::byte>>& all) {
    const place here = place_of(address());
    for (const auto& bytes : all) {
        const place there = place_of(bytes);
        sockaddr_in& to = m_ranks.emplace_back();
        to.sin_family = AF_INET;
        to.sin_addr.s_addr = address_between(here, there);
        to.sin_port = to.sin_addr.s_addr == 0 ? std::uint16_t{0} : there.port;
    }
}

void rank_bell::ring_at(unsigned rank) noexcept {
    if (rank < m_ranks.size() && m_ranks[rank].sin_port != 0) {
        const sockaddr_in& to = m_ranks[rank];
        const char rings = 1;
        (void)::sendto(m_socket, &rings, 1, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
}

bool rank_bell::take_rung() noexcept { return std::exchange(m_rung, false); }

void rank_bell::wait(std::uint64_t ns) noexcept {
    m_sleep.wait(ns);
    std::array<char, 8> ignored{};
    constexpr int most = 64; // the rest ends the next sleep
    for (int i = 0; i < most && m_port != 0 && ::recv(m_socket, ignored.data(), ignored.size(), 0) >= 0;
         ++i) {
        m_rung = true;
    }
}

} // namespace detail
} // namespace v0
} // namespace pilfer
