#pragma once

#include <functional>

#include "boxes.hpp"
#include "waybill/inline.hpp"
#include "waybill/runtime.hpp"

namespace waybill::sqlite {

/// Runs `body` in a transaction on `session`, which holds the write lock meanwhile: nobody else writes,
/// so it has `deadline`.
InlineResult run_inline(Session& session, const InlineRequest& request,
                        const std::function<Outcome(void* native)>& body, Clock& clock,
                        Duration deadline);

}  // namespace waybill::sqlite
