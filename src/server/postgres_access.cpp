#include <algorithm>
#include <utility>

#include "server/doctor.hpp"
#include "server/store_access.hpp"
#include "waybill/postgres.hpp"
#include "waybill/postgres/doctor.hpp"
#include "waybill/problems.hpp"

namespace waybill::server {
namespace {

using namespace std::chrono_literals;

class PostgresAccess final : public StoreAccess {
public:
    explicit PostgresAccess(std::string url) : url_(std::move(url)) {}

    StoreHandle connect() override { return postgres::open(url_); }
    StoreHandle connect_for(Duration lease) override {
        postgres::Options options;
        options.beat_deadline = std::clamp<Duration>(lease * 3 / 10, 10ms, options.beat_deadline);
        return postgres::open(url_, options);
    }
    Notebook& notebook() override { return *first_; }
    std::optional<std::vector<InstanceSeen>> instances() override { return first_->instances(); }
    Schema schema() override { return first_->schema(); }
    void migrate(std::uint32_t version) override {
        version == 0 ? first_->migrate() : first_->migrate(version);
    }
    void backup(const std::string&) override {
        throw ConfigError{
            {"store: a database is copied by its own tools; use pg_dump or pg_basebackup"}};
    }

private:
    const std::string url_;
    std::unique_ptr<postgres::PostgresStore> first_ = postgres::open(url_);
};

}  // namespace

std::unique_ptr<StoreAccess> open_postgres(const std::string& url) {
    return std::make_unique<PostgresAccess>(url);
}

Findings examine_postgres(const DoctorRequest& request) {
    return postgres::examine(request.store, {.server = request.server,
                                             .publisher = request.publisher,
                                             .old_transaction = request.old_transaction,
                                             .old_message = request.old_message});
}

std::string postgres_migration_script(std::uint32_t from, std::uint32_t to) {
    return postgres::migration_script(from, to);
}

}  // namespace waybill::server
