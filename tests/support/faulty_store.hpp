#pragma once

#include <memory>

#include "waybill/testkit/faulty_store.hpp"

namespace waybill::test {

using testkit::FaultyStore;

/// A handle on a store that somebody else owns and that outlives it.
inline StoreHandle borrowed(Store& store) {
    return std::shared_ptr<Store>{std::shared_ptr<Store>{}, &store};
}

}  // namespace waybill::test
