#pragma once

#include <optional>
#include <string>
#include <string_view>

/// Secrets at rest: AES-256-GCM.
namespace waybill::deliver {

/// 32 bytes of any text.
std::string sealing_key(std::string_view text);
/// "sealed:…"; `about` is bound to it: sealed for one subscription, it opens for no other.
std::string seal(const std::string& key, std::string_view text, std::string_view about);
bool is_sealed(std::string_view text);
/// Nothing: another key, another subject, or not as it was.
std::optional<std::string> unseal(const std::string& key, std::string_view sealed,
                                  std::string_view about);

}  // namespace waybill::deliver
