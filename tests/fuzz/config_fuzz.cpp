/// Whatever is in a configuration file: it is refused with all its problems, or it is in force and says
/// so in words that mean the same again.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "server/config/config.hpp"

namespace {

using namespace waybill;

void require(bool good) {
    if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text{reinterpret_cast<const char*>(data), size};
    // A secret may be a command or a file: none of those while the text is random.
    for (const char* dangerous : {"cmd", "file", "\\u", "\\U"}) {
        if (text.find(dangerous) != std::string::npos) return 0;
    }
    const server::Environment environment{{"SECRET", "a secret of some length"}};
    server::LoadedConfig loaded;
    try {
        loaded = server::load_config(text, "fuzz.toml", environment);
    } catch (const ConfigError& error) {
        require(!error.problems().empty());
        for (const std::string& problem : error.problems()) require(!problem.empty());
        return 0;
    }
    // A secret or password that stands in the file itself is not shown, so it is not the same again.
    if (loaded.effective.find("***") != std::string::npos) return 0;
    const server::LoadedConfig again =
        server::load_config(loaded.effective, "again.toml", environment);
    require(again.config == loaded.config);
    return 0;
}
