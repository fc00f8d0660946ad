#include "pack.hpp"

#include <cstdint>

#include "waybill/store.hpp"

namespace waybill::sqlite {
namespace {

constexpr unsigned kBitsPerByte = 7;
constexpr unsigned char kMore = 0x80;

class Packer {
public:
    Packer& number(std::uint64_t value) {
        while (value >= kMore) {
            bytes_.push_back(static_cast<char>(value | kMore));
            value >>= kBitsPerByte;
        }
        bytes_.push_back(static_cast<char>(value));
        return *this;
    }
    Packer& text(std::string_view value) {
        number(value.size());
        bytes_.append(value);
        return *this;
    }
    std::string take() { return std::move(bytes_); }

private:
    std::string bytes_{};
};

class Unpacker {
public:
    explicit Unpacker(std::string_view bytes) : bytes_(bytes) {}

    bool is_empty() const { return bytes_.empty(); }
    std::uint64_t number() {
        std::uint64_t value = 0;
        for (unsigned shift = 0; shift < 64; shift += kBitsPerByte) {
            if (bytes_.empty()) damaged();
            const auto byte = static_cast<unsigned char>(bytes_.front());
            bytes_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & (kMore - 1)) << shift;
            if (byte < kMore) return value;
        }
        damaged();
    }
    std::string text() {
        const std::uint64_t size = number();
        if (size > bytes_.size()) damaged();
        std::string value{bytes_.substr(0, size)};
        bytes_.remove_prefix(size);
        return value;
    }

private:
    [[noreturn]] static void damaged() {
        throw StoreError{Reaction::give_up,
                         "sqlite store: a row is damaged: a packed column ends too early; run an "
                         "integrity check and restore a backup"};
    }

    std::string_view bytes_;
};

}  // namespace

std::string pack(const Attributes& attributes) {
    Packer packer;
    for (const auto& [name, value] : attributes) packer.text(name).text(value);
    return packer.take();
}

Attributes unpack_attributes(std::string_view bytes) {
    Attributes attributes;
    Unpacker unpacker{bytes};
    while (!unpacker.is_empty()) {
        std::string name = unpacker.text();
        attributes.emplace_hint(attributes.end(), std::move(name), unpacker.text());
    }
    return attributes;
}

std::string pack(const std::vector<std::string>& texts) {
    Packer packer;
    for (const std::string& text : texts) packer.text(text);
    return packer.take();
}

std::vector<std::string> unpack_texts(std::string_view bytes) {
    std::vector<std::string> texts;
    Unpacker unpacker{bytes};
    while (!unpacker.is_empty()) texts.push_back(unpacker.text());
    return texts;
}

std::string pack(const std::vector<Progress>& progress) {
    Packer packer;
    for (const Progress& one : progress) {
        packer.text(one.target)
            .number(static_cast<std::uint64_t>(one.state))
            .number(one.failures)
            .number(static_cast<std::uint64_t>(one.due.time_since_epoch().count()))
            .text(one.last_error)
            .number(one.skipped ? 1 : 0);
    }
    return packer.take();
}

std::vector<Progress> unpack_progress(std::string_view bytes) {
    std::vector<Progress> progress;
    Unpacker unpacker{bytes};
    while (!unpacker.is_empty()) {
        Progress& one = progress.emplace_back();
        one.target = unpacker.text();
        one.state = static_cast<Progress::State>(unpacker.number());
        one.failures = static_cast<std::uint32_t>(unpacker.number());
        one.due = StoreTime{Duration{static_cast<std::int64_t>(unpacker.number())}};
        one.last_error = unpacker.text();
        one.skipped = unpacker.number() != 0;
    }
    return progress;
}

}  // namespace waybill::sqlite
