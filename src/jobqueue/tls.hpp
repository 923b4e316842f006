// TLS between this process and a job queue.
#pragma once

#include <memory>
#include <string>

#include "jobqueue/sockets.hpp"

namespace pilfer {
inline namespace v0 {
namespace detail {

/// Files in the PEM format; empty: none.
struct tls_files {
    std::string authorities; ///< whose certificates are trusted; empty: those that the system trusts
    std::string certificate; ///< of this process, followed by those between it and its authority
    std::string key;         ///< of that certificate, without a passphrase
};

/// TLS over a connected stream. Waits at most 5 s for the server, whose certificate must be valid for `host`.
/// Throws std::runtime_error with the reason, also where this program was built without OpenSSL.
[[nodiscard]] std::unique_ptr<stream> secure(std::unique_ptr<stream> plain, const std::string& host,
                                             const tls_files& files);

} // namespace detail
} // namespace v0
} // namespace pilfer
