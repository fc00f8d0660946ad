#pragma once

#include "waybill/testkit/event_log.hpp"

namespace waybill::test {

using testkit::EventLog;

}  // namespace waybill::test
