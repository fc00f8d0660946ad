#include "wire.hpp"

#include <cstring>

#include "waybill/store.hpp"

namespace waybill::postgres {
namespace {

[[noreturn]] void damaged() {
    throw StoreError{Reaction::give_up,
                     "postgres store: the server sent an array that ends too early"};
}

/// Walks over the elements of a one-dimensional array.
template <class Visit>
void each_element(std::string_view bytes, Visit visit) {
    const auto number = [&] {
        if (bytes.size() < 4) damaged();
        const auto value = static_cast<std::int32_t>(get_number(bytes.substr(0, 4)));
        bytes.remove_prefix(4);
        return value;
    };
    if (bytes.empty()) return;
    const std::int32_t dimensions = number();
    number();
    number();
    if (dimensions == 0) return;
    std::int32_t count = number();
    number();
    for (; count > 0; --count) {
        const std::int32_t size = number();
        if (size < 0) continue;
        if (bytes.size() < static_cast<std::size_t>(size)) damaged();
        visit(bytes.substr(0, static_cast<std::size_t>(size)));
        bytes.remove_prefix(static_cast<std::size_t>(size));
    }
}

}  // namespace

void put_number(std::string& out, std::uint64_t value, int size) {
    for (int shift = (size - 1) * 8; shift >= 0; shift -= 8) {
        out.push_back(static_cast<char>(value >> shift));
    }
}

std::uint64_t get_number(std::string_view bytes) {
    if (bytes.empty()) return 0;
    // Of any size, and signed.
    std::uint64_t value = (bytes[0] & 0x80) != 0 && bytes.size() > 1 ? ~std::uint64_t{0} : 0;
    for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
    return value;
}

Texts texts_of(const std::vector<std::string>& values) {
    Texts column;
    for (const std::string& value : values) column.add(value);
    return column;
}

std::string array_literal(const std::vector<std::string>& values) {
    std::string out = "{";
    for (const std::string& value : values) {
        if (out.size() > 1) out.push_back(',');
        out.push_back('"');
        for (const char letter : value) {
            if (letter == '"' || letter == '\\') out.push_back('\\');
            out.push_back(letter);
        }
        out.push_back('"');
    }
    out.push_back('}');
    return out;
}

std::vector<std::string> decode_texts(std::string_view bytes) {
    std::vector<std::string> all;
    each_element(bytes, [&](std::string_view element) { all.emplace_back(element); });
    return all;
}

std::vector<std::uint64_t> decode_numbers(std::string_view bytes) {
    std::vector<std::uint64_t> all;
    each_element(bytes, [&](std::string_view element) { all.push_back(get_number(element)); });
    return all;
}

std::vector<Uuid> decode_uuids(std::string_view bytes) {
    std::vector<Uuid> all;
    each_element(bytes, [&](std::string_view element) { all.push_back(decode_uuid(element)); });
    return all;
}

Uuid decode_uuid(std::string_view bytes) {
    Uuid id;
    if (bytes.size() != id.bytes.size()) damaged();
    std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
    return id;
}

}  // namespace waybill::postgres
