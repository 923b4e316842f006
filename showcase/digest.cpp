#include "digest.hpp"

#include <fcntl.h>
#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <stdexcept>

namespace showcase {
namespace {

// On the heap, not in the frame: contexts of a fork-join runtime have small stacks. Below malloc's mmap
// threshold.
constexpr std::size_t block_bytes = 64 * 1024;

EVP_MD const* algorithm() {
    // Fetched once: since OpenSSL 3 EVP_sha256() looks the provider up, under a lock, at every use.
    static EVP_MD const* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    if (fetched == nullptr)
        throw std::runtime_error("OpenSSL offers no SHA256");
    return fetched;
}

} // namespace

void sha256::free_context::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

sha256::sha256() : m_context(EVP_MD_CTX_new()) {
    if (!m_context || EVP_DigestInit_ex2(m_context.get(), algorithm(), nullptr) != 1)
        throw std::runtime_error("OpenSSL cannot start a SHA256");
}

void sha256::update(std::string_view bytes) {
    if (EVP_DigestUpdate(m_context.get(), bytes.data(), bytes.size()) != 1)
        throw std::runtime_error("OpenSSL cannot continue a SHA256");
}

std::string sha256::hex() {
    std::array<unsigned char, 32> raw{};
    unsigned length = 0;
    if (EVP_DigestFinal_ex(m_context.get(), raw.data(), &length) != 1 || length != raw.size())
        throw std::runtime_error("OpenSSL cannot end a SHA256");
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * raw.size());
    for (unsigned char const byte : raw) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

int sha256_of_file(int fd, std::string& hex) {
    sha256 digest;
    auto const block = std::make_unique_for_overwrite<char[]>(block_bytes);
    for (;;) {
        ssize_t const got = ::read(fd, block.get(), block_bytes);
        if (got < 0) {
            if (errno == EINTR)
                continue;
            return errno;
        }
        if (got == 0)
            break;
        digest.update({block.get(), static_cast<std::size_t>(got)});
    }
    hex = digest.hex();
    return 0;
}

} // namespace showcase
