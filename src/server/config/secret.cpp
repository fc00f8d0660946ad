#include "server/config/secret.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace waybill::server {
namespace {

void drop_line_end(std::string& text) {
    if (text.ends_with('\n')) text.pop_back();
    if (text.ends_with('\r')) text.pop_back();
}

FoundSecret from_file(const std::string& path) {
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        return {.problem =
                    "the file " + path + " cannot be read; create it, or allow this user to"};
    }
    FoundSecret found{std::string{std::istreambuf_iterator<char>{file}, {}}, {}, false};
    drop_line_end(found.value);
    if (found.value.empty())
        found.problem = "the file " + path + " is empty; write the secret to it";
    return found;
}

FoundSecret from_command(const std::string& command) {
    FILE* output = ::popen(command.c_str(), "r");
    if (output == nullptr) return {.problem = "the command cannot be run"};
    FoundSecret found;
    std::array<char, 4096> buffer{};
    std::size_t size = 0;
    while ((size = std::fread(buffer.data(), 1, buffer.size(), output)) > 0) {
        found.value.append(buffer.data(), size);
    }
    const int status = ::pclose(output);
    drop_line_end(found.value);
    if (status != 0) {
        return {.problem = "the command failed; run it by hand to see why"};
    }
    if (found.value.empty()) found.problem = "the command printed nothing";
    return found;
}

}  // namespace

Environment process_environment() {
    return [](const std::string& name) -> std::optional<std::string> {
        const char* const value = std::getenv(name.c_str());
        if (value == nullptr) return std::nullopt;
        return value;
    };
}

FoundSecret find_secret(const std::string& reference, const Environment& environment) {
    if (reference.starts_with("env:")) {
        const auto value = environment(reference.substr(4));
        if (!value) return {.problem = "is not set; export it, or use \"file:…\""};
        if (value->empty()) return {.problem = "is empty; export it with the secret"};
        return {*value, {}, false};
    }
    if (reference.starts_with("file:")) return from_file(reference.substr(5));
    if (reference.starts_with("cmd:")) return from_command(reference.substr(4));
    if (reference.empty()) return {.problem = "is empty; use \"env:NAME\""};
    return {reference, {}, true};
}

std::string masked(const std::string& reference) {
    for (const std::string_view kind : {"env:", "file:", "cmd:"}) {
        if (reference.starts_with(kind)) return reference;
    }
    return "***";
}

}  // namespace waybill::server
