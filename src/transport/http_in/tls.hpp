#pragma once

#include <boost/asio/ssl/context.hpp>

#include "transport/http_in/http_in.hpp"

namespace waybill::http_in {

/// What the connections of a door shake hands with. Those under way keep theirs when it is replaced.
class Tls {
public:
    Tls() : context(boost::asio::ssl::context::tls_server) {}
    boost::asio::ssl::context context;
};

}  // namespace waybill::http_in
