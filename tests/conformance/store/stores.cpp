#include <memory>

#include "harness.hpp"
#include "store/sqlite/calls.hpp"
#include "support/manual_clock.hpp"
#include "support/postgres_under_test.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/memory.hpp"
#include "waybill/sqlite.hpp"

/// The stores that keep every promise of this folder. One entry each.
namespace waybill::test {
namespace {

class MemoryUnderTest final : public StoreUnderTest {
public:
    Connection connect() override {
        std::shared_ptr<memory::MemoryStore> store = first_->connect();
        return {store, store.get(), store.get(), store.get(), store.get(), store.get()};
    }
    void advance(Duration by) override { clock_.step_wall(by); }
    void append_inside(void* native, const Append& item) override {
        static_cast<memory::Transaction*>(native)->appends.push_back(item);
    }

private:
    ManualClock clock_{};
    std::unique_ptr<memory::MemoryStore> first_ = memory::open(clock_);
};

class SqliteUnderTest final : public StoreUnderTest {
public:
    Connection connect() override {
        std::shared_ptr<sqlite::SqliteStore> store = first_->connect();
        return {store, store.get(), store.get(), store.get(), store.get(), store.get()};
    }
    void advance(Duration by) override { clock_.step_wall(by); }
    void append_inside(void* native, const Append& item) override {
        sqlite::Session session{static_cast<sqlite3*>(native)};
        sqlite::append(session, clock_.wall(), {&item, 1});
    }

private:
    TemporaryFolder folder_{};
    ManualClock clock_{};
    std::unique_ptr<sqlite::SqliteStore> first_ = sqlite::open(folder_.file("store.db"), clock_);
};

class PostgresUnderTest final : public StoreUnderTest {
public:
    Connection connect() override {
        std::shared_ptr<postgres::PostgresStore> store = schema_.connect();
        return {store, store.get(), store.get(), store.get(), store.get(), store.get()};
    }
    void advance(Duration by) override { schema_.advance(by); }
    void append_inside(void* native, const Append& item) override {
        schema_.append_inside(native, item);
    }

private:
    PostgresSchema schema_{};
};

}  // namespace

std::vector<StoreEntry> stores_under_test() {
    return {
        {"memory", [] { return std::make_unique<MemoryUnderTest>(); }},
        {"sqlite", [] { return std::make_unique<SqliteUnderTest>(); }},
        {"postgres", [] { return std::make_unique<PostgresUnderTest>(); }},
    };
}

INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, testing::ValuesIn(stores_under_test()),
                         store_name);

}  // namespace waybill::test
