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
/// Two transactions met, and this one was chosen to begin again.
bool is_collision(std::string_view sqlstate);
/// How often a transaction begins in all, before whoever wants it is told of the collision.
inline constexpr int collision_tries_max = 5;
/// What a person can do about it; empty where the server's own text says it all.
std::string_view advice_for(std::string_view sqlstate);

/// What the server answered while we were `doing` something.
class ServerError : public StoreError {
public:
    ServerError(Reaction reaction, const std::string& what, std::string_view sqlstate)
        : StoreError(reaction, what), sqlstate_(sqlstate) {}
    bool is_read_only() const { return sqlstate_ == "25006"; }
    /// It took longer than its deadline.
    bool is_late() const { return sqlstate_ == "57014"; }
    /// The role may not.
    bool is_denied() const { return sqlstate_ == "42501"; }
    /// A key that must be unique is there already.
    bool is_known() const { return sqlstate_ == "23505"; }
    bool is_collision() const { return postgres::is_collision(sqlstate_); }

private:
    std::string sqlstate_;
};
ServerError error_of(std::string_view sqlstate, std::string_view message, std::string_view doing);

}  // namespace waybill::postgres
