#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "board.hpp"
#include "cable.hpp"
#include "waybill/waybill.hpp"

namespace demo {

/// What goes wrong in the demo's world, on purpose.
struct Weather {
    /// The bank of the last lane answers nothing.
    std::atomic<bool> bank_down{false};
    /// Poisoned orders can be charged after all.
    std::atomic<bool> poison_mended{false};
    /// One attempt in this many fails for no reason; 0 = none.
    std::atomic<int> bad_luck{12};
};

inline constexpr std::string_view poison = "poison";

/// One instance of the service: in production a process on some host.
class Instance final : waybill::Observer {
public:
    Instance(std::string name, waybill::memory::MemoryStore& root, Board& board, Weather& weather);
    ~Instance() override;

    waybill::Waybill& app() { return *app_; }
    void cut();
    InstanceView view();

private:
    void on_event(const waybill::Event& event) noexcept override;

    const std::string name_;
    Board& board_;
    std::shared_ptr<Cable> cable_;
    std::atomic<bool> silent_{false};
    std::unique_ptr<waybill::Waybill> app_;
};

}  // namespace demo
