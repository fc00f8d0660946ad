#include <algorithm>
#include <utility>

#include "server/store_access.hpp"
#include "waybill/postgres.hpp"
#include "waybill/problems.hpp"

namespace waybill::server {
namespace {

using namespace std::chrono_literals;

postgres::Options options_of(const StoreOptions& options) {
    postgres::Options made;
    made.beat_deadline = std::clamp<Duration>(options.lease * 3 / 10, 10ms, made.beat_deadline);
    return made;
}

class PostgresAccess final : public StoreAccess {
public:
    PostgresAccess(std::string url, const StoreOptions& options)
        : url_(std::move(url)), options_(options_of(options)) {}

    StoreHandle connect() override { return postgres::open(url_, options_); }
    Notebook& notebook() override { return *first_; }
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
    const postgres::Options options_;
    std::unique_ptr<postgres::PostgresStore> first_ = postgres::open(url_, options_);
};

}  // namespace

std::unique_ptr<StoreAccess> open_postgres(const std::string& url, const StoreOptions& options) {
    return std::make_unique<PostgresAccess>(url, options);
}

}  // namespace waybill::server
