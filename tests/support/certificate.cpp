#include "support/certificate.hpp"

#include <cstdio>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace waybill::test {
namespace {

void add_raw_name(X509* certificate, const std::string& name) {
    ASN1_IA5STRING* text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, name.data(), static_cast<int>(name.size()));
    GENERAL_NAME* one = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(one, GEN_DNS, text);
    GENERAL_NAMES* names = GENERAL_NAMES_new();
    sk_GENERAL_NAME_push(names, one);
    X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
    GENERAL_NAMES_free(names);
}

}  // namespace

void write_certificate(const CertificateFiles& files, const CertificateOptions& options) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), options.serial);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
    X509_gmtime_adj(X509_getm_notAfter(certificate), options.seconds_valid);
    X509_set_pubkey(certificate, key);
    X509_NAME* name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(options.host.c_str()), -1, -1,
                               0);
    X509_set_issuer_name(certificate, name);
    if (!options.other_names.empty()) {
        X509_EXTENSION* names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name,
                                                    options.other_names.c_str());
        X509_add_ext(certificate, names, -1);
        X509_EXTENSION_free(names);
    }
    if (!options.raw_name.empty()) add_raw_name(certificate, options.raw_name);
    X509_sign(certificate, key, EVP_sha256());
    FILE* out = std::fopen(files.key.c_str(), "w");
    const bool is_plain = options.password.empty();
    PEM_write_PrivateKey(out, key, is_plain ? nullptr : EVP_aes_128_cbc(),
                         reinterpret_cast<const unsigned char*>(options.password.data()),
                         static_cast<int>(options.password.size()), nullptr, nullptr);
    std::fclose(out);
    out = std::fopen(files.certificate.c_str(), "w");
    PEM_write_X509(out, certificate);
    std::fclose(out);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

}  // namespace waybill::test
