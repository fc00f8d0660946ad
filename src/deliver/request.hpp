#pragma once

#include <optional>
#include <string>
#include <vector>

#include "transport/http_out/http_out.hpp"
#include "waybill/deliver.hpp"

/// A message as a request to a subscription. Pure.
namespace waybill::deliver {

/// Those that sign at this moment, newest first.
std::vector<std::string> secrets_at(const Subscription& subscription, StoreTime now);

/// Those that sign a message of a tenant: its own, if it has one, comes before the subscription's. None: what has to
/// be signed cannot be sent.
std::vector<std::string> secrets_for(const Subscription& subscription,
                                     const std::optional<std::string>& of_tenant, StoreTime now);

/// When a message was published, by its id; one whose id does not tell is as old as can be.
StoreTime published_at(const Message& message);

/// Of all attempts, replays included: a replay has ids of its own.
std::uint32_t attempt_of(const DeliveryItem& item);

/// Nothing: none of the secrets can sign. No part of it takes longer than `most`.
std::optional<http_out::Request> request_of(const Subscription& subscription,
                                            const MessagePtr& message, std::uint32_t attempt,
                                            const std::vector<std::string>& secrets,
                                            const DeliverOptions& options, StoreTime now,
                                            Duration most);

}  // namespace waybill::deliver
