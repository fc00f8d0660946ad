#include "waybill/providers.hpp"

#include <iostream>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "server/config/units.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

using json::Object;
using json::Value;

Object described(const providers::Info& info) {
    Object object{{"key", info.key}, {"scheme", info.scheme}};
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) object.emplace_back(name, value);
    };
    add("type", info.type);
    add("id", info.id);
    add("lane", info.lane);
    add("tenant", info.tenant);
    object.emplace_back("id_is_signed", info.id_is_signed);
    if (info.tolerance > Duration::zero()) {
        object.emplace_back("tolerance", server::duration_text(info.tolerance));
    }
    add("handshake", info.handshake);
    return object;
}

int show_one(const Arguments& arguments, const std::string& key) {
    const auto info = providers::info(key);
    if (!info) {
        std::vector<std::string> keys;
        for (const std::string_view known : providers::keys()) keys.emplace_back(known);
        const std::string close = server::nearest(key, keys);
        throw UsageError{"there is no provider \"" + key + "\"" +
                         (close.empty()
                              ? "; waybill providers lists them; \"generic\" fits most others"
                              : "; did you mean " + close + "?")};
    }
    const Value value = described(*info);
    if (arguments.has("json")) {
        std::cout << json::to_text(value) << "\n";
    } else {
        print_object(value);
    }
    return 0;
}

int list_providers(const Arguments& arguments, const Globals&) {
    if (!arguments.words().empty()) return show_one(arguments, arguments.word(0, "a provider"));
    json::Array items;
    for (const std::string_view key : providers::keys()) {
        items.emplace_back(described(providers::info(key).value_or(providers::Info{.key = key})));
    }
    print_page(arguments, Object{{"items", std::move(items)}}, {"key", "scheme"});
    return 0;
}

}  // namespace

Command providers_command() {
    return {.name = "providers",
            .summary = "Lists the senders of webhooks it knows, or says all of one",
            .usage = "providers [KEY]",
            .words_max = 1,
            .options = {{"json", "", "for programs"}},
            .examples =
                "  waybill providers\n"
                "  waybill providers stripe\n",
            .run = list_providers};
}

}  // namespace waybill::cli
