#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>

/// The bytes of one connection, plain or through TLS.
namespace waybill::http_in {

class Tls;

/// Who is told what became of reading and writing; kept alive meanwhile.
class StreamUser : public std::enable_shared_from_this<StreamUser> {
public:
    virtual ~StreamUser() = default;
    virtual void on_open(bool ok) = 0;
    /// Empty: nothing more will come.
    virtual void on_bytes(std::string_view bytes) = 0;
    virtual void on_written(bool ok) = 0;
};

/// Thread safety: one thread, that of its io_context.
/// Lifetime:      belongs to its user.
class Stream {
public:
    virtual ~Stream() = default;
    /// Ends in on_open: at once, or after the TLS handshake.
    virtual void open(StreamUser& user) = 0;
    /// Ends in one on_bytes.
    virtual void read(StreamUser& user) = 0;
    /// `bytes` stay where they are until on_written. True: written at once, no on_written follows.
    virtual bool write(StreamUser& user, std::string_view bytes) = 0;
    /// Tells the peer that nothing more will come; reading goes on.
    virtual void finish_writing() = 0;
    virtual void close() = 0;
};

/// Plain connections read into `scratch`, which all of them share: an idle one holds no buffer.
std::unique_ptr<Stream> plain_stream(boost::asio::ip::tcp::socket socket, std::span<char> scratch);
std::unique_ptr<Stream> tls_stream(boost::asio::ip::tcp::socket socket, std::shared_ptr<Tls> tls);

}  // namespace waybill::http_in
