#pragma once

#include <future>
#include <utility>

namespace waybill::test {

/// Runs `body` on a thread beside the test; get() waits for its answer.
template <class Body>
auto later_answer(Body body) {
    return std::async(std::launch::async, std::move(body));
}

}  // namespace waybill::test
