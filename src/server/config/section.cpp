#include "server/config/section.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "server/config/advice.hpp"
#include "server/config/units.hpp"

namespace waybill::server {
namespace {

std::string real_text(double value) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
    return error == std::errc{} ? std::string{buffer, end} : "?";
}

/// A name as TOML writes it in a dotted key.
std::string key_text(const std::string& name) {
    const bool bare = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '-' || c == '_';
    });
    return bare ? name : in_quotes(name);
}

}  // namespace

std::string Reading::place(std::uint32_t line, const std::string& path) const {
    std::string place = line > 0 ? file + ":" + std::to_string(line) + ": " : "";
    if (!path.empty()) place += path + ": ";
    return place;
}

Problems in_order(std::vector<Reading::Noted> noted) {
    std::ranges::stable_sort(noted, {}, &Reading::Noted::line);
    Problems texts;
    for (Reading::Noted& one : noted) texts.push_back(std::move(one.text));
    return texts;
}

Section::Section(Reading& reading, const Node* node, std::string path, bool overridable,
                 std::string shown)
    : reading_(&reading),
      node_(node),
      path_(std::move(path)),
      overridable_(overridable),
      shown_(std::move(shown)) {
    if (node_ != nullptr && node_->kind != Node::Kind::table) {
        problem({}, "must be a table");
        node_ = nullptr;
    }
}

const Node* Section::find(const std::string& key) const {
    if (node_ == nullptr) return nullptr;
    for (const auto& [name, node] : node_->members) {
        if (name == key) return &node;
    }
    return nullptr;
}

std::string Section::path_of(const std::string& key) const {
    if (path_.empty() || key.empty()) return path_ + key;
    return path_ + "." + key;
}

void Section::problem(const std::string& key, const std::string& text) {
    const Node* const node = find(key);
    const std::uint32_t line = node != nullptr ? node->line : node_ != nullptr ? node_->line : 0;
    reading_->problems.push_back({line, reading_->place(line, path_of(key)) + text});
}

void Section::warn(const std::string& key, const std::string& text) {
    const Node* const node = find(key);
    const std::uint32_t line = node != nullptr ? node->line : 0;
    reading_->warnings.push_back({line, reading_->place(line, path_of(key)) + text});
}

void Section::show(const std::string& key, const std::string& value) {
    if (value != "\"\"") reading_->effective += shown_ + key + " = " + value + "\n";
}

Section::Scalar Section::scalar(const std::string& key) {
    known_.push_back(key);
    Scalar found{.node = find(key)};
    found.found = found.node != nullptr;
    const std::string path = path_of(key);
    if (overridable_) {
        const std::string name = override_of(path);
        reading_->variables.overrides.push_back(name);
        if (const std::string* const value = variable(reading_->environment, name)) {
            found = {nullptr, *value, true};
        }
    }
    if (found.node != nullptr) {
        reading_->places[path] = reading_->place(found.node->line, path);
    }
    return found;
}

const Node* Section::list(const std::string& key) {
    known_.push_back(key);
    if (overridable_) reading_->variables.lists.push_back(override_of(path_of(key)));
    return find(key);
}

bool Section::scalar_text(const std::string& key, const char* expected, std::string& text) {
    Scalar found = scalar(key);
    if (!found.found) return false;
    if (found.node == nullptr) {
        text = std::move(found.from_environment);
        return true;
    }
    switch (found.node->kind) {
        case Node::Kind::text: text = found.node->text; return true;
        case Node::Kind::integer: text = std::to_string(found.node->integer); return true;
        case Node::Kind::real: text = real_text(found.node->real); return true;
        case Node::Kind::boolean: text = found.node->boolean ? "true" : "false"; return true;
        default: problem(key, std::string{"must be "} + expected); return false;
    }
}

void Section::read_text(const std::string& key, std::string& value) {
    const Scalar found = scalar(key);
    if (found.found && found.node == nullptr) {
        value = found.from_environment;
    } else if (found.found && found.node->kind != Node::Kind::text) {
        problem(key, "must be a text in quotes");
    } else if (found.found) {
        value = found.node->text;
    }
}

void Section::text(const std::string& key, std::string& value) {
    read_text(key, value);
    show(key, in_quotes(value));
}

void Section::url(const std::string& key, std::string& value) {
    read_text(key, value);
    show(key, in_quotes(masked_url(value)));
}

void Section::boolean(const std::string& key, bool& value) {
    std::string text;
    if (scalar_text(key, "true or false", text)) {
        if (text != "true" && text != "false") problem(key, "must be true or false");
        value = text == "true";
    }
    show(key, value ? "true" : "false");
}

void Section::number(const std::string& key, std::uint32_t& value, std::uint32_t least,
                     std::uint32_t most) {
    std::string text;
    const std::string expected =
        "a whole number, " + std::to_string(least) + " … " + std::to_string(most);
    if (scalar_text(key, expected.c_str(), text)) {
        std::uint32_t number = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc{} || stopped != end || number < least || number > most) {
            problem(key, "must be " + expected);
        } else {
            value = number;
        }
    }
    show(key, std::to_string(value));
}

void Section::real(const std::string& key, double& value, double least, double most) {
    std::string text;
    const std::string expected = "a number, " + real_text(least) + " … " + real_text(most);
    if (scalar_text(key, expected.c_str(), text)) {
        double number = 0;
        const char* const end = text.data() + text.size();
        const auto [stopped, error] = std::from_chars(text.data(), end, number);
        if (error != std::errc{} || stopped != end || !(number >= least && number <= most)) {
            problem(key, "must be " + expected);
        } else {
            value = number;
        }
    }
    show(key, real_text(value));
}

template <class Value, class Parse>
std::string Section::with_unit(const std::string& key, const char* expected, Parse parse,
                               Value& value) {
    std::string text;
    if (!scalar_text(key, expected, text)) return {};
    if (const auto parsed = parse(text)) {
        value = *parsed;
    } else {
        problem(key, in_quotes(text) + " is not " + expected);
    }
    return text;
}

void Section::duration(const std::string& key, Duration& value) {
    with_unit(key, "a duration such as \"250ms\", \"30s\", \"5m\", \"7d\"", parse_duration, value);
    show(key, in_quotes(duration_text(value)));
}

void Section::duration(const std::string& key, std::optional<Duration>& value) {
    const Scalar found = scalar(key);
    if (!found.found) return;
    value.emplace();
    duration(key, *value);
}

void Section::size(const std::string& key, std::uint64_t& value) {
    with_unit(key, "a size such as \"512KiB\" or \"1MiB\"", parse_size, value);
    show(key, in_quotes(size_text(value)));
}

void Section::rate(const std::string& key, double& value) {
    const std::string text =
        with_unit(key, "a rate such as \"100/s\" or \"30/m\"", parse_rate, value);
    if (!text.empty()) show(key, in_quotes(text));  // one a minute is no whole number a second
}

bool Section::look_up(const std::string& key, const std::string& reference, std::string& value) {
    if (reference.starts_with("env:")) {
        reading_->variables.secrets.push_back(reference.substr(4));
    }
    if (reading_->secrets == Secrets::unneeded) {
        value = "not looked up";
        return false;
    }
    FoundSecret found = find_secret(reference, reading_->environment);
    if (!found.problem.empty()) {
        problem(key, in_quotes(masked(reference)) + " " + found.problem);
        return false;
    }
    if (found.literal) {
        warn(key, "a secret is written into the file; use \"env:NAME\" or \"file:PATH\"");
    }
    if (const std::string advice = advice_on_secret(found.value); !advice.empty()) {
        warn(key, advice);
    }
    value = std::move(found.value);
    return true;
}

void Section::secret(const std::string& key, std::string& value, std::string* written) {
    std::string reference;
    if (!scalar_text(key, "a secret such as \"env:NAME\"", reference)) return;
    look_up(key, reference, value);
    show(key, in_quotes(masked(reference)));
    if (written != nullptr) *written = std::move(reference);
}

bool Section::word_of(const std::string& key, std::string& word,
                      const std::vector<std::string>& words) {
    std::string expected;
    for (const std::string& one : words)
        expected += (expected.empty() ? "" : ", ") + in_quotes(one);
    std::string text = word;
    const bool found = scalar_text(key, ("one of " + expected).c_str(), text);
    const bool good = std::find(words.begin(), words.end(), text) != words.end();
    if (found && !good) problem(key, in_quotes(text) + " is not one of " + expected);
    if (good) word = text;
    show(key, in_quotes(word));
    return good;
}

void Section::later(const std::string& key, const std::string& what) {
    if (scalar(key).found) {
        problem(key, "this version does not know it yet (" + what + "); remove it");
    }
}

Section Section::table(const std::string& key) {
    known_.push_back(key);
    return {*reading_, find(key), path_of(key), overridable_, shown_ + key + "."};
}

std::vector<Section> Section::tables(const std::string& key) {
    known_.push_back(key);
    std::vector<Section> all;
    const Node* const node = find(key);
    if (node == nullptr) return all;
    if (node->kind != Node::Kind::array) {
        problem(key, "must be a list of tables: write [[" + path_of(key) + "]]");
        return all;
    }
    for (std::size_t i = 0; i < node->items.size(); ++i) {
        all.emplace_back(*reading_, &node->items[i], path_of(key) + "[" + std::to_string(i) + "]",
                         false);
    }
    return all;
}

std::vector<std::pair<std::string, Section>> Section::named(const std::string& key) {
    known_.push_back(key);
    std::vector<std::pair<std::string, Section>> all;
    const Node* const node = find(key);
    if (node == nullptr) return all;
    if (node->kind != Node::Kind::table) {
        problem(key, "must be tables: write [" + path_of(key) + ".NAME]");
        return all;
    }
    for (const auto& [name, member] : node->members) {
        all.emplace_back(name, Section{*reading_, &member, path_of(key) + "." + name, true,
                                       shown_ + key + "." + key_text(name) + "."});
    }
    return all;
}

void Section::finish() {
    if (node_ == nullptr) return;
    for (const auto& [name, node] : node_->members) {
        if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
        const std::string close = nearest(name, known_);
        problem(name, close.empty() ? "is not a known key; remove it"
                                    : "is not a known key; did you mean " + in_quotes(close) + "?");
    }
}

}  // namespace waybill::server
