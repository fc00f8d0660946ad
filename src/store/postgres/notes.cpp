#include "calls.hpp"

namespace waybill::postgres {
namespace {

/// A lock that ends with its transaction, and that with its connection: who dies lets go.
class NameHold final : public Notebook::Hold {
public:
    explicit NameHold(const Address& address) : db(address), transaction_(db) {
        // An order over many letters takes its time; who hangs for ever does not keep it.
        db.script("set local idle_in_transaction_session_timeout = '15min'", "hold");
    }
    Database db;

private:
    Transaction transaction_;
};

}  // namespace

std::optional<std::string> note(Database& db, const std::string& name) {
    Rows rows = db.read(sql::note, name);
    if (!rows.next()) return std::nullopt;
    return rows.string(0);
}

std::vector<Note> notes(Database& db, const std::string& prefix) {
    std::vector<Note> all;
    Rows rows = db.read(sql::notes, prefix);
    while (rows.next()) all.push_back({rows.string(0), rows.string(1)});
    return all;
}

void keep_note(Database& db, const std::string& name, const std::string& text, StoreTime until) {
    db.write(sql::drop_old_notes);
    std::optional<StoreTime> end;
    if (until != store_never) end = until;
    db.write(sql::keep_note, name, text, end);
}

void drop_note(Database& db, const std::string& name) {
    db.write(sql::drop_note, name);
}

std::unique_ptr<Notebook::Hold> hold(const Address& address, const std::string& name) {
    auto held = std::make_unique<NameHold>(address);
    try {
        held->db.read(sql::lock_name, address.schema + "/" + name);
    } catch (const StoreError& error) {
        if (error.reaction() != Reaction::retry) throw;
        return nullptr;
    }
    return held;
}

}  // namespace waybill::postgres
