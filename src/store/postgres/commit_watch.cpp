#include "commit_watch.hpp"

#include <string_view>

namespace waybill::postgres {
namespace {

void ignore(void*, const PGresult*) {}

/// The one that a connection has until somebody sets another. It looks at its notice alone, so that it can be called and
/// set again without knowing its argument.
PQnoticeReceiver receiver_of_libpq() {
    static const PQnoticeReceiver receiver = [] {
        // A connection that is never made: its address is no good.
        const char* const names[] = {"waybill_has_no_such_word", nullptr};
        const char* const values[] = {"x", nullptr};
        PGconn* const blank = PQconnectStartParams(names, values, 0);
        const PQnoticeReceiver found = PQsetNoticeReceiver(blank, nullptr, nullptr);
        PQfinish(blank);
        return found;
    }();
    return receiver;
}

}  // namespace

void ignore_notices(PGconn* connection) {
    PQsetNoticeReceiver(connection, &ignore, nullptr);
}

CommitWatch::CommitWatch(PGconn*& connection, Whose whose) : connection_(connection) {
    // A handler may have set one on ours; it counts for what the handler sends itself.
    if (whose == Whose::ours) {
        before_ = &ignore;
    } else if (PQsetNoticeReceiver(connection_, nullptr, nullptr) == receiver_of_libpq()) {
        before_ = receiver_of_libpq();
    }
    if (before_ != nullptr) PQsetNoticeReceiver(connection_, &hear, this);
}

CommitWatch::~CommitWatch() {
    if (connection_ != nullptr && before_ != nullptr) {
        PQsetNoticeReceiver(connection_, before_, nullptr);
    }
}

void CommitWatch::hear(void* watch, const PGresult* notice) {
    auto& self = *static_cast<CommitWatch*>(watch);
    // Its text is in the server's language, and its SQLSTATE that of any warning.
    const char* const from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (from != nullptr && std::string_view{from} == "SyncRepWaitForLSN") {
        self.was_cancelled_ = true;
    }
    self.before_(nullptr, notice);
}

}  // namespace waybill::postgres
