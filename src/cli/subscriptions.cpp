#include <charconv>
#include <iostream>
#include <system_error>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Array;
using json::Object;
using json::Value;

constexpr const char* kFolder = "/v1/subscriptions";

std::string path_of(const Arguments& arguments, const std::string& verb = {}) {
    const std::string& id = arguments.word(1, "the id of the subscription");
    return std::string{kFolder} + "/" + id + (verb.empty() ? "" : "/" + verb);
}

Array listed(const std::string& text) {
    Array items;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(',', at), text.size());
        if (end > at) items.emplace_back(text.substr(at, end - at));
        at = end + 1;
    }
    return items;
}

/// "Name: value", several of them one per line.
Object headers_of(const std::string& text) {
    Object headers;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        const std::string line = text.substr(at, end - at);
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) throw UsageError{"--header is written \"Name: value\""};
        const std::size_t value = line.find_first_not_of(' ', colon + 1);
        headers.emplace_back(line.substr(0, colon),
                             value == std::string::npos ? "" : line.substr(value));
        at = end + 1;
    }
    return headers;
}

/// With null for those that go, one per line.
void add_removed_headers(const std::string& names, Object& headers) {
    for (std::size_t at = 0; at < names.size();) {
        const std::size_t end = std::min(names.find('\n', at), names.size());
        headers.emplace_back(names.substr(at, end - at), Value{});
        at = end + 1;
    }
}

double real_of(const Arguments& arguments, const char* name) {
    const std::string text = arguments.value(name);
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw UsageError{std::string{"--"} + name + " needs a number, such as 1.5, not \"" + text +
                         "\""};
    }
    return number;
}

/// How it is tried again, of what was said.
Object retry_of(const Arguments& arguments) {
    Object retry;
    if (arguments.has("max-attempts")) {
        retry.emplace_back("max_attempts", arguments.number("max-attempts", 0));
    }
    for (const char* name : {"base", "cap"}) {
        if (arguments.has(name)) retry.emplace_back(name, arguments.value(name));
    }
    for (const char* name : {"multiplier", "jitter"}) {
        if (arguments.has(name)) retry.emplace_back(name, real_of(arguments, name));
    }
    if (arguments.has("schedule")) {
        retry.emplace_back("schedule", listed(arguments.value("schedule")));
    }
    return retry;
}

/// What was said, with the names of the API.
Object body_of(const Arguments& arguments) {
    Object body;
    for (const char* name : {"url", "type", "tenant", "box", "secret", "id", "timeout", "rate",
                             "description", "reason", "grace", "message", "body"}) {
        if (arguments.has(name)) body.emplace_back(name, arguments.value(name));
    }
    for (const auto& [option, name] : {std::pair{"client-errors", "client_errors"},
                                       std::pair{"disable-after", "disable_after"}}) {
        if (arguments.has(option)) body.emplace_back(name, arguments.value(option));
    }
    for (const char* name : {"ed25519", "paused", "skip"}) {
        if (arguments.has(name)) body.emplace_back(name, true);
    }
    if (arguments.has("concurrency")) {
        body.emplace_back("concurrency", arguments.number("concurrency", 0));
    }
    if (arguments.has("signing")) body.emplace_back("signing", listed(arguments.value("signing")));
    Object headers = headers_of(arguments.value("header"));
    add_removed_headers(arguments.value("remove-header"), headers);
    if (!headers.empty()) body.emplace_back("headers", std::move(headers));
    Object retry = retry_of(arguments);
    if (!retry.empty()) body.emplace_back("retry", std::move(retry));
    return body;
}

void print_secret(const Arguments& arguments, const Value& answer) {
    if (const std::string key = text_of(answer, "public_key"); !key.empty()) {
        std::cout << "public key: " << key << "\n"
                  << "Give it to whoever receives, who verifies with it.\n";
    }
    const std::string secret = text_of(answer, "secret");
    if (secret.empty()) {
        if (arguments.has("operation") && !arguments.has("secret") && !arguments.has("ed25519")) {
            std::cout << "It was carried out before, and its secret was shown then.\n";
        }
        return;
    }
    std::cout << "secret: " << secret << "\n"
              << "It is shown this once: give it to whoever receives, who verifies with it.\n";
}

int add(const Arguments& arguments, const Globals& globals) {
    Object body = body_of(arguments);
    if (!arguments.has("url")) {
        body.emplace_back("url", arguments.word(1, "the URL to send to"));
    }
    OperatorDesk desk{globals, true};
    const Value answer = desk.post(kFolder, body, arguments.value("operation"));
    print_result(arguments, answer, "added " + text_of(answer, "id"));
    if (!arguments.has("json")) print_secret(arguments, answer);
    return 0;
}

int rotate(const Arguments& arguments, const Globals& globals) {
    OperatorDesk desk{globals};
    const Value answer = desk.post(path_of(arguments, "rotate-secret"), body_of(arguments),
                                   arguments.value("operation"));
    print_result(arguments, answer,
                 "rotated; the secrets before it sign too, until their grace is over");
    if (!arguments.has("json")) print_secret(arguments, answer);
    return 0;
}

int test(const Arguments& arguments, const Globals& globals) {
    OperatorDesk desk{globals};
    const Value answer = desk.post(path_of(arguments, "test"), body_of(arguments));
    if (arguments.has("json")) {
        std::cout << json::to_text(answer) << "\n";
    } else {
        print_object(answer);
    }
    return answer.find("delivered")->as_bool() ? 0 : 1;
}

int remove(const Arguments& arguments, const Globals& globals) {
    const std::string path = path_of(arguments, "remove");
    if (!confirmed(arguments, "Remove it, and let go of what waits for it?")) return 1;
    OperatorDesk desk{globals};
    print_result(arguments, desk.post(path, Value{}, arguments.value("operation")), "removed");
    return 0;
}

int order(const Arguments& arguments, const Globals& globals, const std::string& verb,
          const std::string& done) {
    OperatorDesk desk{globals};
    const Value answer =
        desk.post(path_of(arguments, verb), body_of(arguments), arguments.value("operation"));
    // Of a file its server is asked; of any other store servers read what changed.
    const bool is_told = !desk.file().empty();
    print_result(arguments, answer, is_told ? done : done + " (servers notice within a second)");
    return 0;
}

int skip(const Arguments& arguments, const Globals& globals) {
    OperatorDesk desk{globals};
    const Value answer =
        desk.post(path_of(arguments, "skip"), Value{}, arguments.value("operation"));
    const bool is_held = text_of(answer, "takes_effect") != "now";
    const std::string state = text_of(answer, "state");
    print_result(arguments, answer,
                 is_held ? "what was published before now will not be sent; as long as it is " +
                               (state == "active" ? "held" : state) +
                               " those messages stay open, and they end as dead letters when it "
                               "goes on: waybill subscriptions resume " +
                               text_of(answer, "id")
                         : "what was published before now is not sent");
    return 0;
}

int show_one(const Arguments& arguments, const Globals& globals) {
    OperatorDesk desk{globals};
    const Value answer = desk.get(path_of(arguments));
    if (arguments.has("json")) {
        std::cout << json::to_text(answer) << "\n";
    } else {
        print_object(answer);
    }
    return 0;
}

int subscriptions(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "list, show, add, update, …");
    if (verb == "list") {
        const std::string page = query_of(arguments, {"reason"});  // of other commands
        print_page(arguments, OperatorDesk{globals}.get(kFolder + page),
                   {"id", "state", "type", "tenant", "url", "waits"});
        return 0;
    }
    if (verb == "show") return show_one(arguments, globals);
    if (verb == "add") return add(arguments, globals);
    if (verb == "update") {
        if (arguments.has("secret")) {
            throw UsageError{"a secret is changed by `waybill subscriptions rotate-secret ID`"};
        }
        if (body_of(arguments).empty()) {
            throw UsageError{"say what to change, such as --url, --type or --rate; see --help"};
        }
        return order(arguments, globals, "", "changed");
    }
    if (verb == "pause") return order(arguments, globals, verb, "paused; its messages wait");
    if (verb == "resume") return order(arguments, globals, verb, "goes on");
    if (verb == "disable") return order(arguments, globals, verb, "disabled; its messages wait");
    if (verb == "enable") return order(arguments, globals, verb, "goes on");
    if (verb == "skip") return skip(arguments, globals);
    if (verb == "rotate-secret") return rotate(arguments, globals);
    if (verb == "remove") return remove(arguments, globals);
    if (verb == "test") return test(arguments, globals);
    throw UsageError{
        "subscriptions knows list, show, add, update, pause, resume, disable, enable, skip, "
        "rotate-secret, remove and test, not \"" +
        verb + "\""};
}

}  // namespace

Command subscriptions_command() {
    return {
        .name = "subscriptions",
        .summary = "Who hears of what is published: adds, changes, pauses, tests them",
        .usage =
            "subscriptions list|show|add|update|pause|resume|disable|enable|skip|rotate-secret|"
            "remove|test [ID_OR_URL]",
        .words_max = 2,
        .options = {{"url", "URL", "where to send to; of test: instead of its own"},
                    {"type", "T", "which messages; * is a wildcard; list: who gets these"},
                    {"tenant", "X", "only of this tenant; default: those without their own"},
                    {"box", "B", "of this box instead of outbox; list: of this one alone"},
                    {"secret", "S", "what signs; one is made unless given"},
                    {"ed25519", "", "make a key pair instead: receivers cannot sign"},
                    {"signing", "SETS", "standard, outbox, or both with a comma"},
                    {"header", "H…",
                     "\"Name: value\" with every request; update: instead of its own"},
                    {"remove-header", "NAME…", "update: without this one"},
                    {"timeout", "D", "for one attempt, 30s"},
                    {"rate", "R", "at most so many requests, 100/s; 0/s for no limit"},
                    {"concurrency", "N", "at most so many under way at once"},
                    {"max-attempts", "N", "then it is a dead letter"},
                    {"base", "D", "after the first failure it waits so long, 5s"},
                    {"multiplier", "X", "and each time so many times longer, 2"},
                    {"cap", "D", "but never longer than this, 5m"},
                    {"jitter", "SHARE", "more or less by this share of it, 0.2"},
                    {"schedule", "LIST",
                     "waits between attempts instead: 5s,5m,30m; '' for none any more"},
                    {"client-errors", "WHAT", "of answers 4xx: retry or dead"},
                    {"disable-after", "D", "without a single success for so long; forever: never"},
                    {"description", "TEXT", "for people"},
                    {"paused", "", "add: do not send yet"},
                    {"skip", "", "resume, enable: without what waits"},
                    {"reason", "TEXT", "pause, disable: why"},
                    {"grace", "D", "rotate-secret: the old one signs so long too, 24h"},
                    {"message", "ID", "test: send this one instead of an example"},
                    {"body", "TEXT", "test: of the example"},
                    {"id", "UUID", "add: its id, so that adding it twice is refused"},
                    {"limit", "N", "list: how many, 100"},
                    {"cursor", "C", "list: go on where a page ended"},
                    {"yes", "", "do not ask"},
                    {"json", "", "for programs"},
                    operation_option()},
        .examples =
            "  waybill subscriptions add https://example.com/hook --type 'order.*'\n"
            "  waybill subscriptions list\n"
            "  waybill subscriptions test ID                        an example, now\n"
            "  waybill subscriptions test ID --message M --url http://127.0.0.1:9000/debug\n"
            "  waybill subscriptions enable ID                      goes on with what waited\n"
            "  waybill subscriptions enable ID --skip               goes on with what is new\n"
            "  waybill subscriptions rotate-secret ID --grace 48h\n",
        .run = subscriptions};
}

}  // namespace waybill::cli
