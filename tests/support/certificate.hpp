#pragma once

#include <string>

namespace waybill::test {

/// A key and a certificate for a host that it signs itself, as PEM files.
struct CertificateFiles {
    std::string certificate{};
    std::string key{};
};
struct CertificateOptions {
    long serial = 1;
    /// When it ends, from now.
    long seconds_valid = 3600;
    /// Of the key's file. Empty: it has none.
    std::string password{};
    std::string host = "localhost";
    /// "IP:127.0.0.1,DNS:a.example". Empty: only its host.
    std::string other_names{};
    /// One more name, as it is: with a NUL in it, say.
    std::string raw_name{};
};
void write_certificate(const CertificateFiles& files, const CertificateOptions& options = {});

}  // namespace waybill::test
