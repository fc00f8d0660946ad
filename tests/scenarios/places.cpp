#include "scenarios/place.hpp"
#include "waybill/memory.hpp"

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

}  // namespace

std::vector<PlaceEntry> places() {
    return {
        {"memory", [] { return std::make_unique<InMemory>(); }},
    };
}

}  // namespace waybill::test
