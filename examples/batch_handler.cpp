// Many messages per call, an outcome for each: one bad item does not spoil its batch.

#include <atomic>
#include <cstdio>
#include <string>
#include <vector>

#include "check.hpp"
#include <waybill/memory.hpp>
#include <waybill/waybill.hpp>

int main() {
    waybill::Waybill app{{.store = waybill::memory::open()}};

    std::atomic<int> rows{0};
    std::atomic<int> calls{0};
    // [batch_handler]
    app.inbox("readings", {.lanes = waybill::Lanes::none})
        .on_batch("reading", "warehouse.load",
                  [&](waybill::Batch batch, waybill::BatchContext&) {
                      waybill::BatchOutcomes outcomes(batch.size(), waybill::Done{});
                      for (std::size_t i = 0; i < batch.size(); ++i) {
                          if (batch[i]->body.empty())
                              outcomes[i] = waybill::Dead{"an empty reading"};
                      }
                      ++calls;  // one bulk insert for the rest
                      rows += static_cast<int>(batch.size());
                      return outcomes;
                  },
                  {.batch_max = 100});
    // [/batch_handler]

    std::vector<waybill::Message> readings;
    for (int i = 0; i < 1'000; ++i) {
        readings.push_back({.type = "reading", .body = i == 500 ? "" : std::to_string(i)});
    }
    app.append(std::move(readings));
    CHECK(app.run_until_idle());

    const auto dead = app.catalogue().dead_letters({}, {}, 10);
    std::printf("%d readings in %d calls, %zu dead: %s\n", rows.load(), calls.load(),
                dead.items.size(), dead.items.front().letter.reason.c_str());
    CHECK(rows == 1'000);
    CHECK(calls < 1'000);
    CHECK(dead.items.size() == 1);
}
