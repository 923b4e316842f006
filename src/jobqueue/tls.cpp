// TLS by OpenSSL 3. The only file that knows it.
//
// OpenSSL reads and writes by the functions below. Its own ones call write(), whose signal for a closed
// socket would end the program.
#include "jobqueue/tls.hpp"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace pilfer {
inline namespace v0 {
namespace detail {
namespace {

constexpr std::chrono::seconds handshake_time{5};
constexpr const char* no_tls = "does not answer by TLS; gearmand of Debian never does, also with --ssl";

/// In TLS 1.3 the client's half of a handshake ends before the server has looked at the client's certificate.
constexpr const char* refuses = "; a server that wants another certificate of this process ends so";

template <class T, void (*Free)(T*)>
struct freed_by {
    void operator()(T* what) const noexcept { Free(what); }
};
using context = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX, &SSL_CTX_free>>;
using session = std::unique_ptr<SSL, freed_by<SSL, &SSL_free>>;
using bio_method = std::unique_ptr<BIO_METHOD, freed_by<BIO_METHOD, &BIO_meth_free>>;

/// The oldest error of OpenSSL in this thread, in words, and forgets all of them.
[[nodiscard]] std::string openssl_error() {
    const unsigned long code = ERR_get_error();
    ERR_clear_error();
    if (ERR_SYSTEM_ERROR(code)) {
        return std::generic_category().message(ERR_GET_REASON(code));
    }
    const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
    return reason != nullptr ? reason : code != 0 ? "error " + std::to_string(code) : "no reason given";
}

[[nodiscard]] std::string text_of(const X509_NAME* name) {
    std::array<char, 256> text{};
    (void)X509_NAME_oneline(name, text.data(), static_cast<int>(text.size()));
    return text.data();
}

/// TLS on one socket.
class tls_stream final : public stream {
public:
    tls_stream(std::unique_ptr<stream> plain, const std::string& host, const tls_files& files)
        : m_plain(std::move(plain)) {
        ERR_clear_error(); // of the program's own use of OpenSSL
        m_context.reset(must(SSL_CTX_new(TLS_client_method())));
        use(files);
        // A queue's packets do not end where a record ends, and stay where they are or are moved as a whole.
        SSL_CTX_set_mode(m_context.get(),
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        must(SSL_CTX_set_min_proto_version(m_context.get(), TLS1_2_VERSION));
        m_session.reset(must(SSL_new(m_context.get())));
        must(SSL_set_app_data(m_session.get(), this));
        expect_name(host);
        SSL_set_verify(m_session.get(), SSL_VERIFY_PEER, &tls_stream::verify);
        m_method = make_method();
        BIO* socket = must(BIO_new(m_method.get()));
        BIO_set_data(socket, m_plain.get());
        BIO_set_init(socket, 1);
        SSL_set_bio(m_session.get(), socket, socket); // takes it
        shake_hands();
    }

    ~tls_stream() override {
        if (!m_is_broken) {
            (void)SSL_shutdown(m_session.get()); // says so, and waits for no answer
        }
        ERR_clear_error(); // the program's own use of OpenSSL must not find it
    }

    std::size_t send(std::span<const std::byte> bytes) override {
        ERR_clear_error();
        const int n = SSL_write(m_session.get(), bytes.data(), limited(bytes.size()));
        return n > 0 ? static_cast<std::size_t>(n) : none_now(n);
    }
    std::size_t receive(std::span<std::byte> to) override {
        ERR_clear_error();
        const int n = SSL_read(m_session.get(), to.data(), limited(to.size()));
        m_has_received |= n > 0;
        return n > 0 ? static_cast<std::size_t>(n) : none_now(n);
    }
    [[nodiscard]] int descriptor() const noexcept override { return m_plain->descriptor(); }

private:
    [[nodiscard]] static int limited(std::size_t size) noexcept {
        return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
    }

    // Calls of OpenSSL that fail if memory is missing or a value is wrong.
    static void must(long worked) {
        if (worked <= 0) {
            throw std::runtime_error("needs TLS, which cannot be set up: " + openssl_error());
        }
    }
    template <class T>
    [[nodiscard]] static T* must(T* made) {
        must(made != nullptr ? 1L : 0L);
        return made;
    }

    void use(const tls_files& files) {
        SSL_CTX* c = m_context.get();
        const auto use_file = [](bool worked, const char* what, const std::string& path) {
            if (!worked) {
                throw std::runtime_error(std::string("needs TLS, and ") + what + " in " + path +
                                         " cannot be used: " + openssl_error());
            }
        };
        if (files.authorities.empty()) {
            must(SSL_CTX_set_default_verify_paths(c));
        } else {
            use_file(SSL_CTX_load_verify_file(c, files.authorities.c_str()) == 1, "the authorities",
                     files.authorities);
        }
        // OpenSSL would ask for a passphrase on the terminal.
        SSL_CTX_set_default_passwd_cb(c, [](char*, int, int, void*) { return -1; });
        if (!files.certificate.empty()) {
            use_file(SSL_CTX_use_certificate_chain_file(c, files.certificate.c_str()) == 1, "the certificate",
                     files.certificate);
            use_file(SSL_CTX_use_PrivateKey_file(c, files.key.c_str(), SSL_FILETYPE_PEM) == 1, "the key",
                     files.key);
        }
    }

    void expect_name(const std::string& host) {
        X509_VERIFY_PARAM* wanted = SSL_get0_param(m_session.get());
        X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
        if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) != 1) { // no address
            ERR_clear_error();
            must(X509_VERIFY_PARAM_set1_host(wanted, host.c_str(), host.size()));
            must(SSL_set_tlsext_host_name(m_session.get(), host.c_str()));
        }
    }

    /// Called for each certificate of the server. Keeps what is wrong, because the handshake only says that
    /// something is.
    static int verify(int is_good, X509_STORE_CTX* store) {
        if (is_good == 0) {
            auto* ssl =
                static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
            auto* self = static_cast<tls_stream*>(SSL_get_app_data(ssl));
            try {
                const X509* shown = X509_STORE_CTX_get0_cert(store);
                self->m_refusal = "shows a certificate of " + text_of(X509_get_subject_name(shown)) +
                                  ", issued by " + text_of(X509_get_issuer_name(shown)) +
                                  ", which is not trusted: " +
                                  X509_verify_cert_error_string(X509_STORE_CTX_get_error(store));
            } catch (const std::exception&) { // without the text
            }
        }
        return is_good;
    }

    /// Calls a function of the plain stream, whose exception must not pass through OpenSSL.
    template <class F>
    static int call_plain(BIO* b, F f) noexcept {
        BIO_clear_retry_flags(b);
        try {
            const auto n = static_cast<int>(f(*static_cast<stream*>(BIO_get_data(b))));
            if (n == 0) {
                return -1; // the caller marks it to be tried again
            }
            return n;
        } catch (const std::exception&) {
            return -2;
        }
    }
    [[nodiscard]] static bio_method make_method() {
        bio_method m(must(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "pilfer")));
        must(BIO_meth_set_write(m.get(), [](BIO* b, const char* from, int size) {
            const int n = call_plain(b, [&](stream& s) {
                return s.send({reinterpret_cast<const std::byte*>(from), static_cast<std::size_t>(size)});
            });
            if (n == -1) {
                BIO_set_retry_write(b);
            }
            return n;
        }));
        must(BIO_meth_set_read(m.get(), [](BIO* b, char* to, int size) {
            const int n = call_plain(b, [&](stream& s) {
                return s.receive({reinterpret_cast<std::byte*>(to), static_cast<std::size_t>(size)});
            });
            if (n == -1) {
                BIO_set_retry_read(b);
            }
            return n;
        }));
        must(BIO_meth_set_ctrl(m.get(), [](BIO*, int command, long, void*) -> long {
            return command == BIO_CTRL_FLUSH ? 1 : 0; // nothing waits here
        }));
        return m;
    }

    void shake_hands() {
        using clock = std::chrono::steady_clock;
        for (const clock::time_point end = clock::now() + handshake_time;;) {
            ERR_clear_error();
            const int done = SSL_connect(m_session.get());
            if (done == 1) {
                return;
            }
            const int what = SSL_get_error(m_session.get(), done);
            if (what != SSL_ERROR_WANT_READ && what != SSL_ERROR_WANT_WRITE) {
                throw std::runtime_error(!m_refusal.empty()      ? m_refusal
                                         : what == SSL_ERROR_SSL ? "does not agree on TLS: " + openssl_error()
                                                                 : no_tls);
            }
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - clock::now());
            if (left.count() <= 0 || !m_plain->wait(what == SSL_ERROR_WANT_WRITE, left)) {
                throw std::runtime_error(no_tls);
            }
        }
    }

    /// After a call that moved nothing. Returns 0 if it has to be made again later.
    std::size_t none_now(int n) {
        const int what = SSL_get_error(m_session.get(), n);
        if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE) {
            return 0;
        }
        m_is_broken = what != SSL_ERROR_ZERO_RETURN;
        const std::string why = what == SSL_ERROR_SSL ? ": " + openssl_error() : std::string();
        throw std::runtime_error("has closed the connection" + why + (m_has_received ? "" : refuses));
    }

    std::unique_ptr<stream> m_plain;
    std::string m_refusal;       // of the server's certificate
    bool m_has_received = false; // after the handshake
    bool m_is_broken = false;    // by an error after which SSL_shutdown() must not be called
    bio_method m_method{nullptr};
    context m_context;
    session m_session; // ends first
};

} // namespace

std::unique_ptr<stream> secure(std::unique_ptr<stream> plain, const std::string& host,
                               const tls_files& files) {
    return std::make_unique<tls_stream>(std::move(plain), host, files);
}

} // namespace detail
} // namespace v0
} // namespace pilfer
