#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/node.hpp"
#include "server/config/overrides.hpp"
#include "server/config/secret.hpp"
#include "waybill/http.hpp"
#include "waybill/problems.hpp"
#include "waybill/time.hpp"

namespace waybill::server {

/// What reading a configuration gathers.
struct Reading {
    /// For messages; empty: there is none.
    std::string file{};
    Environment environment{};
    Secrets secrets = Secrets::needed;
    /// What was found, and in which line.
    struct Noted {
        std::uint32_t line = 0;
        std::string text{};
    };
    std::vector<Noted> problems{};
    std::vector<Noted> warnings{};
    KnownVariables variables{};
    /// "waybill.toml:14: sources.stripe.path: " by "sources.stripe.path".
    std::map<std::string, std::string> places{};
    /// What is in force, as TOML with secrets masked.
    std::string effective{};

    /// "waybill.toml:14: sources.stripe.secrets: "
    std::string place(std::uint32_t line, const std::string& path) const;
};

/// By line, as people go through a file; what is in no line comes first.
Problems in_order(std::vector<Reading::Noted> noted);

/// A table of the file while it is read. Each reader leaves its value alone when the key is not
/// there, and writes down a problem when it does not fit; finish() refuses what nobody asked for.
/// A scalar outside of lists can be overridden by the environment: WAYBILL_SECTION__KEY.
class Section {
public:
    /// `node` null: an empty one.
    Section(Reading& reading, const Node* node, std::string path, bool overridable = true,
            std::string shown = {});

    void text(const std::string& key, std::string& value);
    /// A text that is shown without the password in it.
    void url(const std::string& key, std::string& value);
    void boolean(const std::string& key, bool& value);
    void number(const std::string& key, std::uint32_t& value, std::uint32_t least,
                std::uint32_t most);
    void real(const std::string& key, double& value, double least, double most);
    void duration(const std::string& key, Duration& value);
    void duration(const std::string& key, std::optional<Duration>& value);
    void size(const std::string& key, std::uint64_t& value);
    void rate(const std::string& key, double& value);
    void texts(const std::string& key, std::vector<std::string>& values);
    void durations(const std::string& key, std::vector<Duration>& values);
    /// { "Name" = "value" }; values are not shown: tokens go there.
    void headers(const std::string& key, HttpHeaders& values);
    void ports(const std::string& key, std::vector<std::uint16_t>& values);
    /// Looks it up. `reference`: what was written, for who looks it up later.
    void secret(const std::string& key, std::string& value, std::string* reference = nullptr);
    /// False: not all of them are known.
    bool secrets(const std::string& key, std::vector<std::string>& values);
    /// One of these words.
    template <class Enum>
    void choice(const std::string& key, Enum& value,
                std::initializer_list<std::pair<std::string_view, Enum>> words) {
        std::vector<std::string> names;
        std::string word;
        for (const auto& [name, meaning] : words) {
            names.emplace_back(name);
            if (meaning == value) word = name;
        }
        if (!word_of(key, word, names)) return;
        for (const auto& [name, meaning] : words) {
            if (name == word) value = meaning;
        }
    }
    /// Known, but not to this version.
    void later(const std::string& key, const std::string& what);

    bool has(const std::string& key) const { return find(key) != nullptr; }
    Section table(const std::string& key);
    /// [[key]]
    std::vector<Section> tables(const std::string& key);
    /// [key.NAME]
    std::vector<std::pair<std::string, Section>> named(const std::string& key);

    /// Refuses the keys that were not asked for.
    void finish();
    /// Writes down a problem of this key, or of the section when it is empty.
    void problem(const std::string& key, const std::string& text);
    void warn(const std::string& key, const std::string& text);
    /// Otherwise secrets are not what they are.
    bool looks_up_secrets() const { return reading_->secrets == Secrets::needed; }
    const Environment& environment() const { return reading_->environment; }
    /// False: what secret() read is good for nothing.
    bool secrets_are_known() const { return reading_->secrets == Secrets::needed; }

private:
    struct Scalar {
        const Node* node = nullptr;
        std::string from_environment{};
        bool found = false;
    };

    const Node* find(const std::string& key) const;
    std::string path_of(const std::string& key) const;
    Scalar scalar(const std::string& key);
    /// Null: not there. Nothing overrides it.
    const Node* list(const std::string& key);
    void read_text(const std::string& key, std::string& value);
    /// The scalar as text, for readers that parse it themselves. False: not there.
    bool scalar_text(const std::string& key, const char* expected, std::string& text);
    /// A text that `parse` understands, or a problem that says what was expected. What was written.
    template <class Value, class Parse>
    std::string with_unit(const std::string& key, const char* expected, Parse parse, Value& value);
    bool word_of(const std::string& key, std::string& word, const std::vector<std::string>& words);
    bool look_up(const std::string& key, const std::string& reference, std::string& value);
    void show(const std::string& key, const std::string& value);

    Reading* reading_;
    const Node* node_;
    std::string path_;
    bool overridable_;
    /// In front of its keys in `effective`.
    std::string shown_;
    std::vector<std::string> known_{};
};

}  // namespace waybill::server
