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

/// Every result keeps the receiver that was there when it came, and its argument: so there is none.
thread_local bool heard_a_cancellation = false;

void hear(const PGresult* notice) {
    // Its text is in the server's language, and its SQLSTATE that of any warning.
    const char* const from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
    if (from != nullptr && std::string_view{from} == "SyncRepWaitForLSN") {
        heard_a_cancellation = true;
    }
}

void hear_and_ignore(void*, const PGresult* notice) {
    hear(notice);
}

void hear_and_tell(void*, const PGresult* notice) {
    hear(notice);
    receiver_of_libpq()(nullptr, notice);
}

}  // namespace

void ignore_notices(PGconn* connection) {
    PQsetNoticeReceiver(connection, &ignore, nullptr);
}

CommitWatch::CommitWatch(PGconn*& connection, Whose whose) : connection_(connection) {
    heard_a_cancellation = false;
    // A handler may have set one on ours; it counts for what the handler sends itself.
    if (whose == Whose::ours) {
        after_ = &ignore;
        PQsetNoticeReceiver(connection_, &hear_and_ignore, nullptr);
    } else if (PQsetNoticeReceiver(connection_, nullptr, nullptr) == receiver_of_libpq()) {
        after_ = receiver_of_libpq();
        PQsetNoticeReceiver(connection_, &hear_and_tell, nullptr);
    }
}

CommitWatch::~CommitWatch() {
    if (connection_ != nullptr && after_ != nullptr) {
        PQsetNoticeReceiver(connection_, after_, nullptr);
    }
}

bool CommitWatch::was_cancelled() const {
    return after_ != nullptr && heard_a_cancellation;
}

}  // namespace waybill::postgres
