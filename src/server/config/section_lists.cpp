#include <algorithm>

#include "server/config/section.hpp"
#include "server/config/units.hpp"

/// What is written as a list.
namespace waybill::server {
namespace {

bool is_list_of_texts(const Node& node) {
    return node.kind == Node::Kind::array && std::ranges::all_of(node.items, [](const Node& item) {
               return item.kind == Node::Kind::text;
           });
}

template <class Values, class Text>
std::string list_text(const Values& values, Text text) {
    std::string list = "[";
    for (const auto& value : values) list += (list.size() > 1 ? ", " : "") + text(value);
    return list + "]";
}

}  // namespace

void Section::texts(const std::string& key, std::vector<std::string>& values) {
    const Node* const node = list(key);
    if (node == nullptr) return;
    if (!is_list_of_texts(*node)) return problem(key, "must be a list of texts, [\"…\", \"…\"]");
    values.clear();
    for (const Node& item : node->items) values.push_back(item.text);
    show(key, list_text(values, [](const std::string& text) { return in_quotes(text); }));
}

void Section::durations(const std::string& key, std::vector<Duration>& values) {
    std::vector<std::string> texts_;
    texts(key, texts_);
    if (find(key) != nullptr) values.clear();
    for (const std::string& one : texts_) {
        if (const auto parsed = parse_duration(one)) {
            values.push_back(*parsed);
        } else {
            problem(key, in_quotes(one) + " is not a duration such as \"30s\"");
        }
    }
}

void Section::headers(const std::string& key, HttpHeaders& values) {
    const Node* const node = list(key);
    if (node == nullptr) return;
    const bool good = node->kind == Node::Kind::table &&
                      std::ranges::all_of(node->members, [](const auto& member) {
                          return member.second.kind == Node::Kind::text;
                      });
    if (!good) return problem(key, R"(must be headers, { "X-Name" = "value" })");
    values = {};
    std::string shown;
    for (const auto& [name, value] : node->members) {
        values.add(name, value.text);
        shown += (shown.empty() ? "" : ", ") + in_quotes(name) + R"( = "…")";
    }
    show(key, "{ " + shown + " }");
}

void Section::ports(const std::string& key, std::vector<std::uint16_t>& values) {
    const Node* const node = list(key);
    if (node == nullptr) return;
    const auto is_port = [](const Node& item) {
        return item.kind == Node::Kind::integer && item.integer > 0 && item.integer < 65'536;
    };
    if (node->kind != Node::Kind::array || !std::ranges::all_of(node->items, is_port)) {
        return problem(key, "must be a list of ports, [443, 8443]");
    }
    values.clear();
    for (const Node& item : node->items) values.push_back(static_cast<std::uint16_t>(item.integer));
    show(key, list_text(values, [](std::uint16_t port) { return std::to_string(port); }));
}

bool Section::secrets(const std::string& key, std::vector<std::string>& values) {
    const Node* const node = list(key);
    if (node == nullptr) return true;
    if (!is_list_of_texts(*node)) {
        problem(key, "must be a list of secrets, [\"env:NAME\"]");
        return false;
    }
    bool known = true;
    for (const Node& item : node->items) {
        std::string& value = values.emplace_back();
        known = look_up(key, item.text, value) && known;
    }
    show(key,
         list_text(node->items, [](const Node& item) { return in_quotes(masked(item.text)); }));
    return known;
}

}  // namespace waybill::server
