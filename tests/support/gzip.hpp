#pragma once

#include <string>
#include <string_view>

#include <zlib.h>

namespace waybill::test {

/// `window` as for zlib's deflateInit2: 31 is gzip, 15 zlib, -15 bare deflate.
inline std::string compressed(std::string_view text, int window = 31) {
    z_stream stream{};
    ::deflateInit2(&stream, 9, Z_DEFLATED, window, 9, Z_DEFAULT_STRATEGY);
    std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    ::deflate(&stream, Z_FINISH);
    out.resize(stream.total_out);
    ::deflateEnd(&stream);
    return out;
}

}  // namespace waybill::test
