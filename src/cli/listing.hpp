#pragma once

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/operator_desk.hpp"
#include "waybill/json.hpp"
#include "waybill/time.hpp"

/// How answers of the operators' desk are asked for and shown.
namespace waybill::cli {

/// --box, --type … and --json.
std::vector<OptionSpec> filter_options();
/// --operation ID
OptionSpec operation_option();
/// What was said of them, as a query with its "?"; empty: nothing.
std::string query_of(const Arguments& arguments, const std::vector<std::string>& but = {});

/// A member as text: lists with commas, nothing for null.
std::string text_of(const json::Value& item, const char* name);

/// What others have written, without what would command a terminal; lines stay lines.
std::string printable(const std::string& text);

/// "850 µs", "4 ms", "3 h": as people say it.
std::string people_duration(Duration duration);

/// Columns as wide as they need to be; the last one as long as it is.
void print_table(const json::Value& page, const std::vector<const char*>& columns);
/// One member per line, lists indented, times as people say them.
void print_object(const json::Value& value, const std::string& indent = {});

/// Prints a page, as JSON when that was asked for.
void print_page(const Arguments& arguments, const json::Value& page,
                const std::vector<const char*>& columns);
/// Asks for a page and prints it.
int list(const Arguments& arguments, const Globals& globals, const std::string& target,
         const std::vector<const char*>& columns);
/// Shows everything of one message.
int show(const Arguments& arguments, const Globals& globals, const std::string& id);

/// What became of an order: as JSON when that was asked for, otherwise this line.
void print_result(const Arguments& arguments, const json::Value& result, const std::string& line);
/// What the owners of the work said to orders, each {"message","commands":[…]}; the exit code.
int print_answers(const Arguments& arguments, const json::Array& orders);

/// Whether a person, or --yes, agrees. Throws UsageError when nobody is there to ask.
bool confirmed(const Arguments& arguments, const std::string& question);

}  // namespace waybill::cli
