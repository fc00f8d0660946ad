#pragma once

#include <cstddef>
#include <string>

namespace waybill::signing {

/// Bytes nobody can guess: what a secret is made of. Throws std::runtime_error.
std::string random_bytes(std::size_t count);

}  // namespace waybill::signing
