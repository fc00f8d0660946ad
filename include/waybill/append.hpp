#pragma once

#include <stdexcept>
#include <string>

#include "waybill/problems.hpp"

/// Why an append was refused before anything reached the store.
namespace waybill {

/// The message itself can never be stored; problems() has all reasons. Correct it.
class InvalidMessage : public std::invalid_argument {
public:
    explicit InvalidMessage(Problems problems);
    const Problems& problems() const { return problems_; }

private:
    Problems problems_;
};

/// More is waiting to be stored than the instance is allowed to hold. Nothing was stored: slow down,
/// or answer your own caller with "try later".
class Overloaded : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

}  // namespace waybill
