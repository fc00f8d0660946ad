#include "transport/http_in/stream.hpp"

#include <array>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "transport/http_in/tls.hpp"

namespace waybill::http_in {
namespace {

namespace asio = boost::asio;
using Error = boost::system::error_code;

class PlainStream final : public Stream {
public:
    PlainStream(asio::ip::tcp::socket socket, std::span<char> scratch)
        : socket_(std::move(socket)), scratch_(scratch) {
        Error ignored;
        socket_.non_blocking(true, ignored);
    }

    void open(StreamUser& user) override { user.on_open(true); }

    void read(StreamUser& user) override {
        socket_.async_wait(asio::ip::tcp::socket::wait_read,
                           [this, alive = user.shared_from_this()](const Error& error) {
                               if (error) return alive->on_bytes({});
                               read_now(*alive);
                           });
    }

    bool write(StreamUser& user, std::string_view bytes) override {
        Error error;
        const std::size_t written = socket_.write_some(asio::buffer(bytes), error);
        if (!error && written == bytes.size()) return true;
        if (error && error != asio::error::would_block && error != asio::error::try_again) {
            asio::post(socket_.get_executor(),
                       [alive = user.shared_from_this()] { alive->on_written(false); });
            return false;
        }
        asio::async_write(socket_, asio::buffer(bytes.substr(error ? 0 : written)),
                          [alive = user.shared_from_this()](const Error& failure, std::size_t) {
                              alive->on_written(!failure);
                          });
        return false;
    }

    void finish_writing() override {
        Error ignored;
        socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }

    void close() override {
        Error ignored;
        socket_.close(ignored);
    }

private:
    void read_now(StreamUser& user) {
        Error error;
        const std::size_t size =
            socket_.read_some(asio::buffer(scratch_.data(), scratch_.size()), error);
        if (error == asio::error::would_block || error == asio::error::try_again) return read(user);
        user.on_bytes(error ? std::string_view{} : std::string_view{scratch_.data(), size});
    }

    asio::ip::tcp::socket socket_;
    std::span<char> scratch_;
};

class TlsStream final : public Stream {
public:
    TlsStream(asio::ip::tcp::socket socket, std::shared_ptr<Tls> tls)
        : tls_(std::move(tls)), stream_(std::move(socket), tls_->context) {}

    void open(StreamUser& user) override {
        stream_.async_handshake(
            asio::ssl::stream_base::server,
            [alive = user.shared_from_this()](const Error& error) { alive->on_open(!error); });
    }

    void read(StreamUser& user) override {
        stream_.async_read_some(asio::buffer(buffer_), [this, alive = user.shared_from_this()](
                                                           const Error& error, std::size_t size) {
            alive->on_bytes(error ? std::string_view{} : std::string_view{buffer_.data(), size});
        });
    }

    bool write(StreamUser& user, std::string_view bytes) override {
        asio::async_write(stream_, asio::buffer(bytes),
                          [alive = user.shared_from_this()](const Error& error, std::size_t) {
                              alive->on_written(!error);
                          });
        return false;
    }

    /// Without the closing message of TLS: the answer has its own length, and waiting for the peer's
    /// goodbye would only give it another way to be slow.
    void finish_writing() override {
        Error ignored;
        stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
    }

    void close() override {
        Error ignored;
        stream_.next_layer().close(ignored);
    }

private:
    std::shared_ptr<Tls> tls_;  ///< outlives the stream
    asio::ssl::stream<asio::ip::tcp::socket> stream_;
    std::array<char, 8192> buffer_{};
};

}  // namespace

std::unique_ptr<Stream> plain_stream(asio::ip::tcp::socket socket, std::span<char> scratch) {
    return std::make_unique<PlainStream>(std::move(socket), scratch);
}

std::unique_ptr<Stream> tls_stream(asio::ip::tcp::socket socket, std::shared_ptr<Tls> tls) {
    return std::make_unique<TlsStream>(std::move(socket), std::move(tls));
}

}  // namespace waybill::http_in
