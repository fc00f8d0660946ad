#include "deliver/sealing.hpp"

#include <array>
#include <memory>
#include <stdexcept>

#include <openssl/evp.h>

#include "core/sha256.hpp"
#include "core/signing/random_bytes.hpp"
#include "waybill/signing.hpp"

namespace waybill::deliver {
namespace {

constexpr std::string_view kSealed = "sealed:";
constexpr std::size_t kNonceBytes = 12;
constexpr std::size_t kTagBytes = 16;

using Cipher = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

Cipher make_cipher() {
    return {::EVP_CIPHER_CTX_new(), ::EVP_CIPHER_CTX_free};
}

unsigned char* bytes(std::string& text) {
    return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
}
int length(std::string_view text) {
    return static_cast<int>(text.size());
}

void must(bool went_well) {
    if (!went_well) throw std::runtime_error{"OpenSSL cannot seal with AES-256-GCM"};
}

}  // namespace

std::string sealing_key(std::string_view text) {
    const auto digest = sha256(text);
    return {digest.begin(), digest.end()};
}

bool is_sealed(std::string_view text) {
    return text.starts_with(kSealed);
}

std::string seal(const std::string& key, std::string_view text, std::string_view about) {
    const std::string nonce = signing::random_bytes(kNonceBytes);
    const Cipher cipher = make_cipher();
    int written = 0;
    must(::EVP_EncryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr,
                              bytes(std::string_view{key}), bytes(std::string_view{nonce})) == 1);
    must(::EVP_EncryptUpdate(cipher.get(), nullptr, &written, bytes(about), length(about)) == 1);
    std::string hidden(text.size(), '\0');
    must(::EVP_EncryptUpdate(cipher.get(), bytes(hidden), &written, bytes(text), length(text)) ==
         1);
    std::string tag(kTagBytes, '\0');
    must(::EVP_EncryptFinal_ex(cipher.get(), bytes(tag), &written) == 1);
    must(::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_GET_TAG, length(tag), tag.data()) == 1);
    return std::string{kSealed} + signing::to_base64(nonce + hidden + tag);
}

std::optional<std::string> unseal(const std::string& key, std::string_view sealed,
                                  std::string_view about) {
    if (!is_sealed(sealed)) return std::nullopt;
    const auto all = signing::from_base64(sealed.substr(kSealed.size()));
    if (!all || all->size() < kNonceBytes + kTagBytes) return std::nullopt;
    const std::string_view nonce = std::string_view{*all}.substr(0, kNonceBytes);
    const std::string_view hidden =
        std::string_view{*all}.substr(kNonceBytes, all->size() - kNonceBytes - kTagBytes);
    std::string tag = all->substr(all->size() - kTagBytes);

    const Cipher cipher = make_cipher();
    int written = 0;
    must(::EVP_DecryptInit_ex(cipher.get(), ::EVP_aes_256_gcm(), nullptr,
                              bytes(std::string_view{key}), bytes(nonce)) == 1);
    must(::EVP_DecryptUpdate(cipher.get(), nullptr, &written, bytes(about), length(about)) == 1);
    std::string text(hidden.size(), '\0');
    must(::EVP_DecryptUpdate(cipher.get(), bytes(text), &written, bytes(hidden), length(hidden)) ==
         1);
    must(::EVP_CIPHER_CTX_ctrl(cipher.get(), EVP_CTRL_GCM_SET_TAG, length(tag), tag.data()) == 1);
    std::array<unsigned char, kTagBytes> rest{};
    if (::EVP_DecryptFinal_ex(cipher.get(), rest.data(), &written) != 1) return std::nullopt;
    return text;
}

}  // namespace waybill::deliver
