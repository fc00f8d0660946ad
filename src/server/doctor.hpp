#pragma once

#include <optional>
#include <string>

#include "server/config/config.hpp"
#include "waybill/finding.hpp"
#include "waybill/time.hpp"

/// `waybill doctor`: what is wrong with a store of any kind, whoever has it open.
namespace waybill::server {

struct DoctorRequest {
    /// Its URL.
    std::string store{};
    /// Nothing where it could not be read: then nobody knows what a file's server would serve.
    std::optional<Config> config{};
    /// The role of the servers; empty: who asks.
    std::string server{};
    /// A role whose right to publish is looked at.
    std::string publisher{};
    Duration old_transaction = std::chrono::minutes{1};
    Duration old_message = std::chrono::minutes{5};
};

/// Changes nothing. The worst comes first. Throws ConfigError for a store that nobody outside can see.
Findings examine(const DoctorRequest& request);

/// In postgres_access.cpp.
Findings examine_postgres(const DoctorRequest& request);

}  // namespace waybill::server
