#pragma once

/// For the tests of applications: link waybill::testkit, and begin with testkit::Kit.
#include "waybill/testkit/event_log.hpp"
#include "waybill/testkit/faulty_store.hpp"
#include "waybill/testkit/kit.hpp"
#include "waybill/testkit/manual_clock.hpp"
