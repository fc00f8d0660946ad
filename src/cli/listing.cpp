#include "cli/listing.hpp"

#include <algorithm>
#include <iostream>
#include <sstream>
#include <type_traits>

#include <unistd.h>

#include "server/admin_query.hpp"
#include "waybill/time.hpp"

namespace waybill::cli {
namespace {

using json::Value;

template <class Kind>
bool is_a(const Value& value) {
    return value.visit(
        [](const auto& inner) { return std::is_same_v<std::decay_t<decltype(inner)>, Kind>; });
}

/// What others have written must not command the terminal: control characters (C0, DEL and C1) come
/// as JSON would write them.
std::string harmless(std::string_view text, std::string_view allowed) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string shown;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto byte = static_cast<unsigned char>(text[i]);
        const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
        // U+0080 … U+009F are C2 80 … C2 9F in UTF-8, which is all that JSON holds.
        const bool is_c1 = byte == 0xC2 && next >= 0x80 && next <= 0x9F;
        const bool is_c0 = byte < 0x20 && allowed.find(text[i]) == std::string_view::npos;
        if (!is_c0 && !is_c1 && byte != 0x7F) {
            shown += text[i];
            continue;
        }
        if (is_c1) {
            byte = next;
            ++i;
        }
        shown += "\\u00";
        shown += kDigits[byte / 16];
        shown += kDigits[byte % 16];
    }
    return shown;
}

std::string value_text(const Value& value) {
    if (value.is_null()) return "";
    if (is_a<std::string>(value)) return value.as_string();
    if (is_a<double>(value)) {
        std::ostringstream number;
        number << value.as_double();
        return number.str();
    }
    if (!is_a<json::Array>(value)) return json::to_text(value);
    std::string list;
    for (const Value& item : value.as_array())
        list += (list.empty() ? "" : ", ") + value_text(item);
    return list;
}

bool is_list_of_words(const Value& list) {
    return !std::ranges::all_of(list.as_array(), is_a<json::Object>);
}

/// One line, whatever others have written into it.
std::string cell_of(const Value& item, const char* name) {
    std::string text = text_of(item, name);
    std::ranges::replace_if(
        text, [](char c) { return c == '\n' || c == '\r' || c == '\t'; }, ' ');
    return harmless(text, {});
}

/// "took_us: 4123" is for programs; people read "took: 4 ms".
bool print_duration(const std::string& name, const Value& value, const std::string& indent) {
    if (!name.ends_with("_us")) return false;
    std::cout << indent << name.substr(0, name.size() - 3) << ": "
              << people_duration(Duration{std::stoll(json::to_text(value))}) << "\n";
    return true;
}

}  // namespace

std::vector<OptionSpec> filter_options() {
    return {{"box", "B", "only of this box"},
            {"type", "T", "only of this type; * is a wildcard"},
            {"source", "S", "only of this source"},
            {"target", "K", "only where an attempt, a letter or an order is recorded for it"},
            {"tenant", "X", "only of this tenant"},
            {"since", "TIME", "2026-01-31 or 2026-01-31T12:00:00Z"},
            {"until", "TIME", "the same"},
            {"reason", "TEXT", "dead letters whose reason contains it"},
            {"limit", "N", "at most so many; default 100"},
            {"cursor", "C", "where the last listing ended"},
            {"json", "", "for programs"}};
}

OptionSpec operation_option() {
    return {"operation", "ID", "carried out once under this id, however often it is said"};
}

std::string query_of(const Arguments& arguments, const std::vector<std::string>& but) {
    std::string query;
    for (const char* name : {"state", "box", "type", "source", "target", "tenant", "since", "until",
                             "reason", "limit", "cursor"}) {
        if (!arguments.has(name) || std::ranges::find(but, name) != but.end()) continue;
        query += query.empty() ? "?" : "&";
        query += std::string{name} + "=" + server::url_encoded(arguments.value(name));
    }
    return query;
}

std::string text_of(const Value& item, const char* name) {
    const Value* const value = item.find(name);
    return value == nullptr ? "" : value_text(*value);
}

std::string printable(const std::string& text) {
    return harmless(text, "\n");
}

std::string people_duration(Duration duration) {
    using namespace std::chrono;
    const auto count = [](auto value, const char* unit) {
        return std::to_string(value.count()) + " " + unit;
    };
    if (duration < 1ms) return count(duration, "µs");
    if (duration < 10s) return count(duration_cast<milliseconds>(duration), "ms");
    if (duration < 2min) return count(duration_cast<seconds>(duration), "s");
    if (duration < 2h) return count(duration_cast<minutes>(duration), "min");
    if (duration < 48h) return count(duration_cast<hours>(duration), "h");
    return count(duration_cast<hours>(duration) / 24, "days");
}

void print_table(const Value& page, const std::vector<const char*>& columns) {
    const json::Array& items = page.find("items")->as_array();
    std::vector<std::size_t> widths;
    for (const char* column : columns) {
        std::size_t width = std::string_view{column}.size();
        for (const Value& item : items) width = std::max(width, cell_of(item, column).size());
        widths.push_back(width);
    }
    const auto row = [&](const auto& cell) {
        for (std::size_t i = 0; i < columns.size(); ++i) {
            std::string text = cell(columns[i]);
            if (i + 1 < columns.size()) text.resize(widths[i] + 2, ' ');
            std::cout << text;
        }
        std::cout << "\n";
    };
    row([](const char* column) { return std::string{column}; });
    for (const Value& item : items) row([&](const char* column) { return cell_of(item, column); });
    if (const Value* const next = page.find("next")) {
        std::cout << "more: --cursor " << next->as_string() << "\n";
    }
}

void print_page(const Arguments& arguments, const Value& page,
                const std::vector<const char*>& columns) {
    if (arguments.has("json")) {
        std::cout << json::to_text(page) << "\n";
    } else if (page.find("items")->as_array().empty() && page.find("next") == nullptr) {
        std::cout << "nothing\n";
    } else {
        print_table(page, columns);
    }
}

int list(const Arguments& arguments, const Globals& globals, const std::string& target,
         const std::vector<const char*>& columns) {
    print_page(arguments, OperatorDesk{globals}.get(target + query_of(arguments)), columns);
    return 0;
}

void print_object(const Value& value, const std::string& indent) {
    for (const auto& [key, member] : value.as_object()) {
        const std::string name = harmless(key, {});
        if (is_a<json::Array>(member) && is_list_of_words(member)) {
            std::cout << indent << name << ": " << harmless(value_text(member), {}) << "\n";
        } else if (is_a<json::Array>(member)) {
            for (const Value& item : member.as_array()) {
                std::cout << indent << name << ":\n";
                print_object(item, indent + "  ");
            }
        } else if (is_a<json::Object>(member)) {
            std::cout << indent << name << ":\n";
            print_object(member, indent + "  ");
        } else if (!print_duration(name, member, indent)) {
            // Only a body may have lines.
            std::cout << indent << name << ": "
                      << harmless(value_text(member), name == "body" ? "\n\t" : "") << "\n";
        }
    }
}

int show(const Arguments& arguments, const Globals& globals, const std::string& id) {
    const Value detail = OperatorDesk{globals}.get("/v1/messages/" + id);
    if (arguments.has("json")) {
        std::cout << json::to_text(detail) << "\n";
    } else {
        print_object(detail);
    }
    return 0;
}

void print_result(const Arguments& arguments, const Value& result, const std::string& line) {
    std::cout << (arguments.has("json") ? json::to_text(result) : line) << "\n";
}

int print_answers(const Arguments& arguments, const json::Array& orders) {
    const bool for_program = arguments.has("json");
    if (for_program) std::cout << json::to_text(json::Object{{"items", orders}}) << "\n";
    int code = 0;
    for (const Value& order : orders) {
        const json::Array& answers = order.find("commands")->as_array();
        const std::string beginning = text_of(order, "message") + ": ";
        if (answers.empty() && !for_program) std::cout << beginning << "carried out before\n";
        for (const Value& answer : answers) {
            if (!for_program) std::cout << beginning << text_of(answer, "text") << "\n";
            const bool is_refused =
                answer.find("answered")->as_bool() && !answer.find("carried_out")->as_bool();
            if (is_refused) code = 1;
        }
    }
    return code;
}

bool confirmed(const Arguments& arguments, const std::string& question) {
    if (arguments.has("yes")) return true;
    if (::isatty(STDIN_FILENO) == 0) {
        throw UsageError{question + " Say --yes: nobody is here to answer"};
    }
    // Of a program's output only the result.
    (arguments.has("json") ? std::cerr : std::cout) << question << " [y/N] " << std::flush;
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "yes";
}

}  // namespace waybill::cli
