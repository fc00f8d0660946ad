#pragma once

#include <string>
#include <string_view>

#include "waybill/store.hpp"

struct sqlite3;

/// What SQLite's result codes mean for the caller: one table.
namespace waybill::sqlite {

/// By extended result code.
Reaction reaction_of(int code);
/// What a person can do about it; empty where the code's own text says it all.
std::string_view advice_for(int code);

/// What SQLite answered while we were `doing` something to `file`.
StoreError error_of(int code, std::string_view message, std::string_view doing,
                    std::string_view file);
/// The same from the connection's last error.
[[noreturn]] void raise(sqlite3* db, int code, std::string_view doing);

}  // namespace waybill::sqlite
