#include "scenarios/place.hpp"
#include "store/sqlite/calls.hpp"
#include "support/postgres_under_test.hpp"
#include "support/temporary_folder.hpp"
#include "waybill/memory.hpp"
#include "waybill/sqlite.hpp"

/// The stores every scenario is played on. One entry each.
namespace waybill::test {
namespace {

class InMemory final : public Place {
public:
    StoreHandle open() override { return root_->connect(); }
    void append_inside(void* native, const Append& item) override {
        static_cast<memory::Transaction*>(native)->appends.push_back(item);
    }

private:
    std::unique_ptr<memory::MemoryStore> root_ = memory::open(clock_, {.partitions = 4});
};

/// A file that is opened anew by each application, as by one process after the other; applications
/// beside each other share it.
class InAFile final : public Place {
public:
    StoreHandle open() override {
        std::shared_ptr<sqlite::SqliteStore> store;
        if (const auto beside = last_.lock()) {
            store = beside->connect();
        } else {
            store = sqlite::open(folder_.file("boxes.db"), clock_, {.partitions = 4});
        }
        last_ = store;
        return store;
    }
    void append_inside(void* native, const Append& item) override {
        sqlite::Session session{static_cast<sqlite3*>(native)};
        sqlite::append(session, now(), {&item, 1});
    }

private:
    TemporaryFolder folder_{};
    std::weak_ptr<sqlite::SqliteStore> last_{};
};

/// A schema of a server that all scenarios share. Its clock is the host's, and goes with ours.
class InADatabase final : public Place {
public:
    InADatabase() {
        schema_.run(
            "update waybill.test_clock set now = 0;"
            "create or replace function waybill.clock() returns bigint language sql stable as "
            "'select (extract(epoch from statement_timestamp()) * 1000000)::bigint + now "
            "from waybill.test_clock'");
    }
    StoreHandle open() override { return schema_.connect(true); }
    void append_inside(void* native, const Append& item) override {
        schema_.append_inside(native, item);
    }
    void advance(Duration by) override {
        schema_.advance(by);
        Place::advance(by);
    }

private:
    PostgresSchema schema_{};
};

}  // namespace

std::vector<PlaceEntry> places() {
    return {
        {"memory", [] { return std::make_unique<InMemory>(); }},
        {"sqlite", [] { return std::make_unique<InAFile>(); }},
        {"postgres", [] { return std::make_unique<InADatabase>(); }},
    };
}

}  // namespace waybill::test
