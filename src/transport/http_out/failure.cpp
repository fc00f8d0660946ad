#include "transport/http_out/failure.hpp"

namespace waybill::http_out {

std::string_view name_of(Phase phase) {
    switch (phase) {
        case Phase::name: return "name";
        case Phase::connect: return "connect";
        case Phase::tls: return "tls";
        case Phase::first_byte: return "first-byte";
        case Phase::answer: return "answer";
        case Phase::done: return "done";
    }
    return "unknown";
}

std::string_view name_of(Failure failure) {
    switch (failure) {
        case Failure::none: return "none";
        case Failure::dns: return "dns";
        case Failure::connect: return "connect";
        case Failure::tls: return "tls";
        case Failure::timeout: return "timeout";
        case Failure::http: return "http";
        case Failure::blocked: return "blocked";
        case Failure::cancelled: return "cancelled";
    }
    return "unknown";
}

Failure failure_of(CURLcode code) {
    switch (code) {
        case CURLE_OK: return Failure::none;
        case CURLE_COULDNT_RESOLVE_HOST:
        case CURLE_COULDNT_RESOLVE_PROXY: return Failure::dns;
        case CURLE_COULDNT_CONNECT:
        case CURLE_INTERFACE_FAILED:
        case CURLE_PROXY: return Failure::connect;
        case CURLE_SSL_CONNECT_ERROR:
        case CURLE_SSL_ENGINE_NOTFOUND:
        case CURLE_SSL_ENGINE_SETFAILED:
        case CURLE_SSL_CERTPROBLEM:
        case CURLE_SSL_CIPHER:
        case CURLE_PEER_FAILED_VERIFICATION:
        case CURLE_USE_SSL_FAILED:
        case CURLE_SSL_ENGINE_INITFAILED:
        case CURLE_SSL_CACERT_BADFILE:
        case CURLE_SSL_CRL_BADFILE:
        case CURLE_SSL_ISSUER_ERROR:
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
        case CURLE_SSL_INVALIDCERTSTATUS:
        case CURLE_SSL_CLIENTCERT: return Failure::tls;
        case CURLE_OPERATION_TIMEDOUT: return Failure::timeout;
        default: return Failure::http;
    }
}

}  // namespace waybill::http_out
