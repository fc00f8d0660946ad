#include <utility>

#include "waybill/deliver.hpp"

namespace waybill {
namespace {

class BookReader final : public SubscriptionReader {
public:
    explicit BookReader(std::shared_ptr<SubscriptionBook> book) : book_(std::move(book)) {}

    std::optional<std::vector<Subscription>> read() override {
        // The version first: what is read may be newer than it says, but never older.
        std::string version = book_->version();
        if (has_read_ && version == version_) return std::nullopt;
        auto all = book_->list();
        version_ = std::move(version);
        has_read_ = true;
        return all;
    }

private:
    std::shared_ptr<SubscriptionBook> book_;
    std::string version_{};
    bool has_read_ = false;
};

}  // namespace

std::shared_ptr<SubscriptionReader> reader_of(std::shared_ptr<SubscriptionBook> book) {
    return std::make_shared<BookReader>(std::move(book));
}

}  // namespace waybill
