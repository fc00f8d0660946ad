#pragma once

#include <string>
#include <string_view>

#include "waybill/store.hpp"

/// What PostgreSQL's SQLSTATEs mean for the caller: one table.
namespace waybill::postgres {

/// Of an error that the server reported: it has rolled back.
Reaction reaction_of(std::string_view sqlstate);
/// The server, or a pooler before it, does not know itself whether a commit was applied.
bool leaves_doubt(std::string_view sqlstate);
/// What a person can do about it; empty where the server's own text says it all.
std::string_view advice_for(std::string_view sqlstate);

/// What the server answered while we were `doing` something.
class ServerError : public StoreError {
public:
    ServerError(Reaction reaction, const std::string& what, std::string_view sqlstate)
        : StoreError(reaction, what), sqlstate_(sqlstate) {}
    /// Two transactions met, and ours was chosen to begin again.
    bool is_read_only() const { return sqlstate_ == "25006"; }
    bool is_collision() const { return sqlstate_ == "40001" || sqlstate_ == "40P01"; }

private:
    std::string sqlstate_;
};
ServerError error_of(std::string_view sqlstate, std::string_view message, std::string_view doing);

}  // namespace waybill::postgres
