#pragma once

#include <functional>
#include <string>

#include "server/admin_publish.hpp"
#include "waybill/catalogue.hpp"
#include "waybill/http.hpp"
#include "waybill/upkeep.hpp"

namespace waybill::server {

/// What operators ask and order, as HTTP requests below /v1/. The server answers them over its door,
/// and the command line answers them itself when no server has the store open: one set of rules for
/// both.
///
/// Thread safety: any thread; calls block on the store.
/// Lifetime:      what it was given outlives it.
/// Errors:        everything is an answer.
class Admin {
public:
    /// Copies the store to a file.
    using Backup = std::function<void(const std::string& path)>;

    Admin(Catalogue& catalogue, Upkeep& upkeep, Backup backup, AppendMessage append)
        : catalogue_(catalogue),
          upkeep_(upkeep),
          backup_(std::move(backup)),
          append_(std::move(append)) {}

    HttpResponse handle(const HttpRequest& request);

private:
    HttpResponse route(const HttpRequest& request);
    HttpResponse messages(const HttpRequest& request);
    HttpResponse message(const Uuid& id);
    HttpResponse cancel(const Uuid& id);
    HttpResponse command(const std::string& number);
    HttpResponse dead(const HttpRequest& request);
    HttpResponse operate(const HttpRequest& request, bool requeue);
    HttpResponse lanes(const HttpRequest& request);
    HttpResponse order_lane(const HttpRequest& request, bool skip);
    HttpResponse targets();
    HttpResponse forget(const HttpRequest& request);
    HttpResponse pause(const HttpRequest& request, bool paused);
    HttpResponse stats();
    HttpResponse backup(const HttpRequest& request);

    Catalogue& catalogue_;
    Upkeep& upkeep_;
    Backup backup_;
    AppendMessage append_;
};

/// {"error":{"code","message"}}
HttpResponse error_response(unsigned status, const std::string& code, const std::string& message);

}  // namespace waybill::server
