#include "intake/gzip.hpp"

#include <algorithm>
#include <array>

#include <zlib.h>

namespace waybill::intake {
namespace {

constexpr std::uint64_t kRatioMax = 100;
constexpr std::uint64_t kAnyRatioBytes = 4'096;
/// The window of deflate, and that it is gzip and nothing else.
constexpr int kGzipOnly = 15 + 16;

class Inflation {
public:
    Inflation() { is_open_ = ::inflateInit2(&stream_, kGzipOnly) == Z_OK; }
    ~Inflation() {
        if (is_open_) ::inflateEnd(&stream_);
    }
    Inflation(const Inflation&) = delete;
    Inflation& operator=(const Inflation&) = delete;

    bool is_open() const { return is_open_; }
    z_stream& stream() { return stream_; }

private:
    z_stream stream_{};
    bool is_open_ = false;
};

}  // namespace

std::variant<std::string, NotDecoded> decode_gzip(std::string_view bytes, std::uint64_t bytes_max) {
    Inflation inflation;
    if (!inflation.is_open()) return NotDecoded{false, "the body could not be decompressed"};
    z_stream& stream = inflation.stream();
    // zlib does not write there; its interface is older than const.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    const std::uint64_t grown_max = std::max(kAnyRatioBytes, kRatioMax * bytes.size());
    std::string body;
    std::array<char, 16'384> piece{};
    for (int code = Z_OK; code != Z_STREAM_END;) {
        stream.next_out = reinterpret_cast<Bytef*>(piece.data());
        stream.avail_out = static_cast<uInt>(piece.size());
        code = ::inflate(&stream, Z_NO_FLUSH);
        if (code != Z_OK && code != Z_STREAM_END) {
            return NotDecoded{false, "the body is not one whole piece of gzip"};
        }
        body.append(piece.data(), piece.size() - stream.avail_out);
        if (body.size() > bytes_max) {
            return NotDecoded{true, "the decompressed body is larger than is taken here"};
        }
        if (body.size() > grown_max) {
            return NotDecoded{true, "the body grows more than a hundredfold when decompressed"};
        }
    }
    if (stream.avail_in != 0) return NotDecoded{false, "there is more after the end of the gzip"};
    return body;
}

}  // namespace waybill::intake
