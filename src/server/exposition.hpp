#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace waybill::server {

/// Numbers as Prometheus reads them: text format 0.0.4. Samples belong to the family begun last, and
/// a family is begun once.
///
/// Thread safety: none.
class Exposition {
public:
    static constexpr const char* content_type = "text/plain; version=0.0.4; charset=utf-8";
    using Label = std::pair<std::string_view, std::string_view>;
    using Labels = std::initializer_list<Label>;

    /// Only ever grows; the name ends with _total.
    void counter(std::string_view name, std::string_view help) { family(name, "counter", help); }
    /// As it is now.
    void gauge(std::string_view name, std::string_view help) { family(name, "gauge", help); }
    void sample(std::uint64_t value, Labels labels = {});
    void seconds(double value);

    std::string take() { return std::move(text_); }

private:
    void family(std::string_view name, std::string_view type, std::string_view help);
    void line(std::string_view value, Labels labels);

    std::string text_{};
    std::string name_{};
};

}  // namespace waybill::server
