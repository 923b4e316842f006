// SHA-256 by OpenSSL's EVP interface.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace showcase {

/// One running SHA-256. Throws std::runtime_error when OpenSSL refuses (out of memory, no provider).
class sha256 {
public:
    sha256();
    void update(std::string_view bytes);
    /// 64 lower-case hexadecimal digits; the object is spent afterwards.
    std::string hex();

private:
    struct free_context {
        void operator()(evp_md_ctx_st* context) const noexcept;
    };
    std::unique_ptr<evp_md_ctx_st, free_context> m_context;
};

/// Reads the open file from its start to its end in blocks of a fixed size. Returns 0 and sets `hex`, or an
/// errno.
int sha256_of_file(int fd, std::string& hex);

} // namespace showcase
