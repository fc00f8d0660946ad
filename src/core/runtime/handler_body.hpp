#pragma once

#include <memory>
#include <stop_token>
#include <string>

#include "waybill/executor.hpp"
#include "waybill/handler.hpp"
#include "waybill/inline.hpp"

namespace waybill::runtime {

/// Longer reasons are cut: they are stored with every attempt and shown on one screen.
inline constexpr std::size_t reason_bytes_max = 2000;

/// How a user's function is called and its end turned into results: all exceptions are Fail, all
/// texts are cleaned.
///
/// Thread safety: `call` from many threads at once; so must the user's function be.
/// Errors:        throws nothing.
class HandlerBody {
public:
    virtual ~HandlerBody() = default;
    virtual DeliveryResults call(const Delivery& delivery, const std::stop_token& stop,
                                 Clock& clock) = 0;
};

std::unique_ptr<HandlerBody> single_body(Handler handler);
/// When a whole batch throws, its items are called one by one; in `strict` lanes only up to the first
/// that is not done.
std::unique_ptr<HandlerBody> batch_body(BatchHandler handler, bool strict = false);
/// `store` outlives the body.
std::unique_ptr<HandlerBody> inline_body(InlineHandler handler, InlineStore& store,
                                         std::string target);

}  // namespace waybill::runtime
