#include <sys/stat.h>

#include "server/config/parts.hpp"
#include "server/config/secret.hpp"
#include "server/store_access.hpp"

namespace waybill::server {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

bool is_folder(const std::string& path) {
    struct stat about {};
    return ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

}  // namespace

std::string problem_of_store(const std::string& url) {
    if (url == "memory:") return {};
#ifdef WAYBILL_WITH_POSTGRES
    if (is_shared(url)) return {};
#endif
    if (!url.starts_with(kSqlite)) {
        return in_quotes(masked_url(url)) + " is not a store of this " +
               (is_shared(url) ? "program, which was built without PostgreSQL" : "version") +
               "; use \"sqlite:PATH\", \"postgresql://…\" or \"memory:\"";
    }
    const std::string path = url.substr(kSqlite.size());
    if (path.empty()) return "names no file; use \"sqlite:PATH\"";
    if (path == ":memory:") return in_quotes(url) + " is no file; use \"memory:\"";
    if (is_folder(path)) return in_quotes(path) + " is a folder; name a file in it";
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (!folder.empty() && !is_folder(folder)) {
        return "there is no folder " + in_quotes(folder) + "; make it, or name a file elsewhere";
    }
    return {};
}

std::string store_beside(const std::string& config_file, const std::string& url) {
    const std::size_t folder = config_file.rfind('/') + 1;
    const bool is_relative = url.starts_with(kSqlite) && url.size() > kSqlite.size() &&
                             url[kSqlite.size()] != '/' && url[kSqlite.size()] != ':';
    if (!is_relative) return url;
    return std::string{kSqlite} + config_file.substr(0, folder) + url.substr(kSqlite.size());
}

void read_store(Section& top, Config& config, const Reading& reading) {
    top.url("store", config.store);
    config.store = store_beside(reading.file, config.store);
    if (const std::string problem = problem_of_store(config.store); !problem.empty()) {
        top.problem("store", problem);
    }
    top.choice("durability", config.relaxed_durability, {{"strict", false}, {"relaxed", true}});
    top.duration("busy_timeout", config.busy_timeout);
    if (config.busy_timeout < std::chrono::milliseconds{1} ||
        config.busy_timeout > std::chrono::minutes{10}) {
        top.problem("busy_timeout", "must be \"1ms\" … \"10m\"");
    }
}

}  // namespace waybill::server
