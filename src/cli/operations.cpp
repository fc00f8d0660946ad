#include <iostream>

#include "cli/command.hpp"
#include "cli/listing.hpp"
#include "cli/operator_desk.hpp"
#include "server/admin_query.hpp"
#include "waybill/json.hpp"

namespace waybill::cli {
namespace {

int operations(const Arguments& arguments, const Globals& globals) {
    const std::string& verb = arguments.word(0, "show or cancel");
    if (verb != "show" && verb != "cancel") {
        throw UsageError{"operations knows show and cancel, not \"" + verb + "\""};
    }
    const std::string path =
        "/v1/operations/" + server::url_encoded(arguments.word(1, "the id of the operation"));
    OperatorDesk desk{globals};
    if (verb == "cancel") {
        const json::Value answer = desk.post(path + "/cancel");
        print_result(arguments, answer, "it goes no further; what it has done stays done");
        return 0;
    }
    const json::Value answer = desk.get(path);
    if (arguments.has("json")) {
        std::cout << json::to_text(answer) << "\n";
    } else {
        print_object(answer);
    }
    return 0;
}

}  // namespace

Command operations_command() {
    return {.name = "operations",
            .summary = "Shows what became of an order, or cancels one over many that is under way",
            .usage = "operations show|cancel ID",
            .words_max = 2,
            .options = {{"json", "", "for programs"}},
            .examples =
                "  waybill operations show 7c9e6679-7425-40de-944b-e07fc1f90ae7\n"
                "  waybill operations cancel 7c9e6679-7425-40de-944b-e07fc1f90ae7\n",
            .run = operations};
}

}  // namespace waybill::cli
