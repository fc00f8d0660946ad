#pragma once

#include <exception>
#include <functional>
#include <stdexcept>
#include <string>

#include "waybill/problems.hpp"
#include "waybill/store.hpp"

/// Why an append was refused before anything reached the store, and how one is answered later.
namespace waybill {

/// What became of an append that nobody waited for.
struct AppendAnswer {
    AppendResult result{};
    /// A StoreError: nothing was stored. Null: `result` says what happened.
    std::exception_ptr error{};
};

/// Called exactly once, from a thread that has more to do: it neither blocks nor throws.
using AppendCallback = std::function<void(const AppendAnswer&)>;

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
