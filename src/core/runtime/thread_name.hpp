#pragma once

#include <pthread.h>

namespace waybill::runtime {

/// What debuggers and `top -H` show for the calling thread; at most 15 characters.
inline void name_this_thread(const char* name) {
    ::pthread_setname_np(::pthread_self(), name);
}

}  // namespace waybill::runtime
