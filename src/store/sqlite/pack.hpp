#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "waybill/message.hpp"
#include "waybill/work.hpp"

/// Small lists as bytes of one column. Nothing at all is the empty text, which the store keeps as
/// null. What cannot be unpacked is a damaged row: StoreError(give_up).
namespace waybill::sqlite {

std::string pack(const Attributes& attributes);
Attributes unpack_attributes(std::string_view bytes);

std::string pack(const std::vector<std::string>& texts);
std::vector<std::string> unpack_texts(std::string_view bytes);

std::string pack(const std::vector<Progress>& progress);
std::vector<Progress> unpack_progress(std::string_view bytes);

}  // namespace waybill::sqlite
