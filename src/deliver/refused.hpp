#pragma once

#include "waybill/store.hpp"

namespace waybill::deliver {

/// It would be refused again.
inline bool is_refused(const StoreError& error) {
    return error.reaction() == Reaction::give_up || error.reaction() == Reaction::bad_data;
}

}  // namespace waybill::deliver
