#pragma once

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <curl/curl.h>

#include "waybill/http.hpp"

namespace waybill::bench {

/// libcurl alone, as its manual says: one request again and again, so many in flight on one thread. Handles are used
/// again, and nothing is judged, timed, signed or told.
class BareLibcurl {
public:
    BareLibcurl(std::string url, const HttpHeaders& headers, std::string body, int in_flight)
        : url_(std::move(url)), body_(std::move(body)) {
        for (const auto& [name, value] : headers) {
            headers_ = ::curl_slist_append(headers_, (name + ": " + value).c_str());
        }
        for (int i = 0; i < in_flight; ++i) {
            CURL* const easy = handles_.emplace_back(::curl_easy_init());
            ::curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
            ::curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers_);
            ::curl_easy_setopt(easy, CURLOPT_POSTFIELDS, body_.c_str());
            ::curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(body_.size()));
            ::curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &drop);
            ::curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        }
        seconds(in_flight);  // connects
    }
    ~BareLibcurl() {
        for (CURL* easy : handles_) ::curl_easy_cleanup(easy);
        ::curl_slist_free_all(headers_);
        ::curl_multi_cleanup(multi_);
    }
    BareLibcurl(const BareLibcurl&) = delete;
    BareLibcurl& operator=(const BareLibcurl&) = delete;

    /// How long so many take until all are answered.
    double seconds(int requests) {
        const auto begin = std::chrono::steady_clock::now();
        int left = requests - static_cast<int>(handles_.size());
        int open = requests;
        for (CURL* easy : handles_) ::curl_multi_add_handle(multi_, easy);
        while (open > 0) {
            int count = 0;
            ::curl_multi_perform(multi_, &count);
            while (const CURLMsg* message = ::curl_multi_info_read(multi_, &count)) {
                CURL* const easy = message->easy_handle;
                if (message->data.result != CURLE_OK) throw std::runtime_error("not answered");
                ::curl_multi_remove_handle(multi_, easy);
                --open;
                if (left-- > 0) ::curl_multi_add_handle(multi_, easy);
            }
            if (open > 0) ::curl_multi_poll(multi_, nullptr, 0, 1'000, nullptr);
        }
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        return took.count();
    }

private:
    static std::size_t drop(char*, std::size_t size, std::size_t count, void*) {
        return size * count;
    }

    const std::string url_;
    const std::string body_;
    curl_slist* headers_ = nullptr;
    std::vector<CURL*> handles_{};
    CURLM* const multi_ = ::curl_multi_init();
};

}  // namespace waybill::bench
