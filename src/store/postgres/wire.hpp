#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "waybill/time.hpp"
#include "waybill/uuid.hpp"

/// Values as PostgreSQL's binary format has them: nothing is turned into text and back.
namespace waybill::postgres {

/// Of pg_type.dat; they never change.
enum class Type : std::uint32_t {
    boolean = 16,
    bytes = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    text = 25,
    uuid = 2950,
};

/// Bytes, as opposed to text.
struct Blob {
    std::string_view bytes{};
};

void put_number(std::string& out, std::uint64_t value, int size);
std::uint64_t get_number(std::string_view bytes);

/// A column of values: one array parameter of a statement that takes many rows at once.
template <Type type>
class Column {
public:
    void add(bool value) requires(type == Type::boolean) {
        open(1);
        put_number(elements_, value ? 1 : 0, 1);
    }
    template <class Number>
    requires(type == Type::int2 || type == Type::int4 || type == Type::int8) &&
        (std::integral<Number> || std::is_enum_v<Number>)void add(Number value) {
        constexpr int size = type == Type::int2 ? 2 : type == Type::int4 ? 4 : 8;
        open(size);
        put_number(elements_, static_cast<std::uint64_t>(value), size);
    }
    void add(StoreTime value) { add(value.time_since_epoch().count()); }
    void add(Duration value) { add(value.count()); }
    void add(const Uuid& value) requires(type == Type::uuid) {
        open(value.bytes.size());
        elements_.append(reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size());
    }
    void add(std::string_view value) requires(type == Type::text || type == Type::bytes) {
        open(value.size());
        elements_.append(value);
    }
    template <class Value>
    void add(const std::optional<Value>& value) {
        value ? add(*value) : add_null();
    }
    void add_null() {
        put_number(elements_, ~std::uint64_t{0}, 4);
        ++count_;
        has_null_ = true;
    }
    std::uint32_t size() const { return count_; }
    /// Every element is empty or null.
    bool is_blank() const { return elements_.size() == std::size_t{4} * count_; }
    void clear() { *this = {}; }

    std::string encoded() const {
        std::string out;
        out.reserve(20 + elements_.size());
        put_number(out, count_ == 0 ? 0 : 1, 4);
        put_number(out, has_null_ ? 1 : 0, 4);
        put_number(out, static_cast<std::uint64_t>(type), 4);
        if (count_ == 0) return out;
        put_number(out, count_, 4);
        put_number(out, 1, 4);
        return out += elements_;
    }

private:
    void open(std::size_t bytes) {
        put_number(elements_, bytes, 4);
        ++count_;
    }

    std::string elements_{};
    std::uint32_t count_ = 0;
    bool has_null_ = false;
};

using Flags = Column<Type::boolean>;
using Blobs = Column<Type::bytes>;
using Smalls = Column<Type::int2>;
using Ints = Column<Type::int4>;
using Longs = Column<Type::int8>;
using Texts = Column<Type::text>;
using Uuids = Column<Type::uuid>;

Texts texts_of(const std::vector<std::string>& values);
/// `{"a","b"}`: an array inside an array parameter, whose rows would otherwise all have the same length.
std::string array_literal(const std::vector<std::string>& values);
/// The elements of a text[] as it arrives.
std::vector<std::string> decode_texts(std::string_view bytes);
std::vector<std::uint64_t> decode_numbers(std::string_view bytes);
std::vector<Uuid> decode_uuids(std::string_view bytes);
Uuid decode_uuid(std::string_view bytes);

/// The parameters of one statement. Each has the size its cast in the statement asks for.
///
/// Lifetime: texts and blobs are looked at when it is sent, and live until then.
class Parameters {
public:
    template <class... Values>
    explicit Parameters(const Values&... given) {
        owned_.reserve(sizeof...(given));
        (add(given), ...);
    }

    std::vector<const char*> values{};
    std::vector<int> lengths{};

private:
    void view(std::string_view bytes) {
        values.push_back(bytes.data() == nullptr ? "" : bytes.data());
        lengths.push_back(static_cast<int>(bytes.size()));
    }
    void own(std::string bytes) { view(owned_.emplace_back(std::move(bytes))); }
    template <class Number>
    void own_number(Number value, int size) {
        std::string bytes;
        put_number(bytes, static_cast<std::uint64_t>(value), size);
        own(std::move(bytes));
    }

    void add(std::string_view value) { view(value); }
    void add(const std::string& value) { view(value); }
    void add(const char* value) { view(value); }
    void add(Blob value) { view(value.bytes); }
    void add(const Uuid& value) {
        view({reinterpret_cast<const char*>(value.bytes.data()), value.bytes.size()});
    }
    void add(bool value) { own_number(value ? 1 : 0, 1); }
    void add(StoreTime value) { own_number(value.time_since_epoch().count(), 8); }
    void add(Duration value) { own_number(value.count(), 8); }
    template <std::integral Number>
    requires(!std::same_as<Number, bool>) void add(Number value) {
        own_number(value, sizeof(Number));
    }
    template <Type type>
    void add(const Column<type>& column) {
        own(column.encoded());
    }
    template <class Value>
    void add(const std::optional<Value>& value) {
        if (value) {
            add(*value);
            return;
        }
        values.push_back(nullptr);
        lengths.push_back(0);
    }

    std::vector<std::string> owned_{};
};

}  // namespace waybill::postgres
