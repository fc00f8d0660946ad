#include "intake/answers.hpp"

#include <chrono>

#include "core/text.hpp"
#include "waybill/json/value.hpp"

namespace waybill::intake {
namespace {

constexpr std::size_t kMessageBytesMax = 500;

HttpResponse json_response(unsigned status, json::Object document) {
    return {.status = status,
            .headers = {{"Content-Type", "application/json"}},
            .body = json::to_text(std::move(document)) + "\n"};
}

unsigned status_of(const Rejected& rejected) {
    if (rejected.status != 0) return rejected.status;
    return rejected.reason == Rejected::Reason::misconfigured ? 503 : 400;
}

}  // namespace

HttpResponse error_response(unsigned status, std::string_view code, std::string_view message) {
    // A message may quote the sender, who may have sent anything.
    json::Object error{{"code", code},
                       {"message", clean_text(message, kMessageBytesMax)},
                       {"detail", json::Object{}}};
    HttpResponse response = json_response(status, {{"error", std::move(error)}});
    if (status == 405) response.headers.add("Allow", "POST");
    return response;
}

HttpResponse later_response(std::string_view code, std::string_view message, Duration retry_after) {
    HttpResponse response = error_response(503, code, message);
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(retry_after).count();
    response.headers.add("Retry-After", std::to_string(seconds));
    return response;
}

std::string_view code_of(const Rejected& rejected) {
    if (rejected.status == 405) return "method-not-allowed";
    return to_string(rejected.reason);
}

HttpResponse refusal(const Rejected& rejected, Duration retry_after) {
    const unsigned status = status_of(rejected);
    if (status == 503) {
        return later_response(to_string(rejected.reason), rejected.message, retry_after);
    }
    return error_response(status, code_of(rejected), rejected.message);
}

HttpResponse append_response(const AppendResult& result, Duration retry_after,
                             IntakeReport& report) {
    report.message = result.id;
    const std::string id = to_string(result.id);
    switch (result.status) {
        case AppendResult::Status::fresh:
            report.outcome = "accepted";
            return json_response(202, {{"id", id}, {"status", "accepted"}});
        case AppendResult::Status::duplicate:
            report.outcome = "duplicate";
            return json_response(200, {{"id", id}, {"status", "duplicate"}});
        case AppendResult::Status::conflict:
            // Senders write the same event anew when they repeat it; the first body stays.
            report.outcome = "conflict";
            return json_response(200, {{"id", id}, {"status", "duplicate"}});
        case AppendResult::Status::unknown: break;
    }
    report.outcome = "unknown-outcome";
    return later_response("unknown-outcome",
                          "whether it was stored is not known; send it again, it is stored once",
                          retry_after);
}

HttpResponse failure_response(const std::exception_ptr& error, Duration retry_after,
                              IntakeReport& report) {
    try {
        std::rethrow_exception(error);
    } catch (const InvalidMessage& invalid) {
        report.outcome = "malformed";
        return error_response(400, report.outcome, invalid.what());
    } catch (const Overloaded&) {
        report.outcome = "overloaded";
        return later_response(report.outcome, "too much is waiting to be stored", retry_after);
    } catch (const StoreError& failed) {
        if (failed.reaction() == Reaction::bad_data) {
            report.outcome = "malformed";
            return error_response(400, report.outcome, "the message cannot be stored");
        }
        report.outcome = "store-unavailable";
        return later_response(report.outcome, "the store cannot take it now", retry_after);
    } catch (...) {
        report.outcome = "internal";
        return error_response(500, report.outcome, "something went wrong here; it was not stored");
    }
}

}  // namespace waybill::intake
