#pragma once

#include <memory>
#include <string>

#include "waybill/postgres.hpp"

namespace waybill::postgres {
class Database;
}

namespace waybill::test {

/// An empty store in a schema of its own, whose clock is in the test's hand.
class PostgresSchema {
public:
    PostgresSchema();
    ~PostgresSchema();

    const std::string& name() const { return options_.schema; }
    const postgres::Options& options() const { return options_; }
    /// Another instance connects to the same data.
    std::unique_ptr<postgres::PostgresStore> connect(bool wake_ups = false) const;
    void advance(Duration by);
    /// Appends in the transaction of an inline body.
    void append_inside(void* native, const Append& item) const;
    /// Statements beside the store; "waybill." in them is this schema.
    void run(const std::string& statements);
    /// The same for what changes more than rows: no other test gets this schema.
    void change(const std::string& statements);

private:
    postgres::Options options_{};
    bool is_clean_ = true;
    std::unique_ptr<postgres::Database> admin_{};
};

}  // namespace waybill::test
