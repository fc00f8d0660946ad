#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "providers/signature.hpp"

namespace waybill::providers {

/// The bytes a signature is of, in pieces; large ones are those of the request itself.
class SignedString {
public:
    SignedString() = default;
    explicit SignedString(std::string whole) { keep(std::move(whole)); }
    SignedString(SignedString&&) = default;
    SignedString& operator=(SignedString&&) = default;

    /// Of something that outlives this.
    void refer(std::string_view piece) { pieces_.push_back(piece); }
    void keep(std::string piece) { pieces_.push_back(owned_.emplace_back(std::move(piece))); }

    const std::vector<std::string_view>& pieces() const { return pieces_; }
    std::string joined() const;

private:
    std::deque<std::string> owned_{};  ///< which stay where they are when this is moved
    std::vector<std::string_view> pieces_{};
};

/// All strings of which one must have been signed. The arrival and the claim outlive them.
std::variant<std::vector<SignedString>, Rejected> signed_strings(const Scheme& scheme,
                                                                 const Arrival& arrival,
                                                                 Reading& reading,
                                                                 const Claim& claim);

/// Everything wrong with a template; empty: nothing.
std::string template_problem(std::string_view text);
/// Whether what is in `place` is part of the signed string.
bool covers(const Scheme& scheme, std::string_view place);

/// The URL the sender called, as far as it is configured, with the query that came.
std::string called_url(const Arrival& arrival);

}  // namespace waybill::providers
