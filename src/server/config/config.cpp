#include "server/config/config.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "core/text.hpp"
#include "server/config/overrides.hpp"
#include "server/config/parts.hpp"
#include "server/config/section.hpp"
#include "server/config/units.hpp"

namespace waybill::server {
namespace {

void read_instance(Section& top, Config& config) {
    constexpr std::size_t kBytesMax = 128;
    top.text("instance", config.instance);
    if (!is_plain_text(config.instance) || config.instance.size() > kBytesMax) {
        top.problem("instance", "must be at most 128 bytes, without control characters");
    }
}

void read_engine(Section section, EngineConfig& engine) {
    section.duration("lease", engine.lease);
    section.size("window", engine.window);
    section.duration("poll", engine.poll);
    section.duration("shutdown_timeout", engine.shutdown_timeout);
    using namespace std::chrono_literals;
    if (engine.lease < 100ms || engine.lease > 10min) {
        section.problem("lease", "must be \"100ms\" … \"10m\"");
    }
    if (engine.window < 64U << 10) section.problem("window", "must be at least \"64KiB\"");
    if (engine.poll < 1ms || engine.poll > 10min) {
        section.problem("poll", "must be \"1ms\" … \"10m\"");
    }
    section.finish();
}

void read_telemetry(Section section, TelemetryConfig& telemetry) {
    section.boolean("prometheus", telemetry.prometheus);
    section.later("otlp", "traces");
    section.finish();
}

BoxOptions defaults_of(const std::string& box) {
    BoxOptions options;
    if (box != "outbox") return options;
    options.unmatched = Unmatched::done;
    return options;
}

void read_box(Section section, BoxConfig& box) {
    BoxOptions& options = box.options;
    options = defaults_of(box.name);
    section.choice(
        "lanes", options.lanes,
        {{"none", Lanes::none}, {"exclusive", Lanes::exclusive}, {"strict", Lanes::strict}});
    section.choice("on_dead", options.on_dead,
                   {{"advance", OnDead::advance}, {"halt", OnDead::halt}});
    section.choice(
        "unmatched", options.unmatched,
        {{"park", Unmatched::park}, {"done", Unmatched::done}, {"dead", Unmatched::dead}});
    section.duration("dedup_window", options.dedup_window);
    section.duration("keep_done", options.keep_done);
    section.duration("keep_dead", options.keep_dead);
    section.choice("attempts_log", options.attempts_log,
                   {{"none", AttemptsLog::none},
                    {"failures", AttemptsLog::failures},
                    {"all", AttemptsLog::all}});
    section.number("concurrency", options.concurrency, 1, 100'000);
    section.finish();
    for (const std::string& text : check(box.name, options)) section.problem({}, text);
}

void read_boxes(Section& top, Config& config) {
    for (auto& [name, section] : top.named("boxes")) {
        read_box(section, config.boxes.emplace_back(BoxConfig{.name = name}));
    }
    add_default_boxes(config.boxes);
}

void read_all(Section& top, Config& config, Reading& reading) {
    read_store(top, config, reading);
    read_instance(top, config);
    read_engine(top.table("engine"), config.engine);
    Section server = top.table("server");
    read_server(server, config.server);
    read_boxes(top, config);
    read_sources(top, config);
    check_door(server, config);
    read_secrets(top.table("secrets"), config.secrets);
    read_egress(top.table("egress"), config.egress);
    read_telemetry(top.table("telemetry"), config.telemetry);
    read_targets(top, config, reading);
    read_subscriptions(top, config, reading);
    top.finish();
}

}  // namespace

void check_box(Section& section, const std::string& box, const Config& config) {
    std::vector<std::string> names;
    for (const BoxConfig& one : config.boxes) names.push_back(one.name);
    if (std::find(names.begin(), names.end(), box) != names.end()) return;
    const std::string close = nearest(box, names);
    section.problem("box", in_quotes(box) + " is not a box; " +
                               (close.empty() ? "" : "did you mean " + in_quotes(close) + "? Or ") +
                               "add [boxes." + box + "]");
}

void add_default_boxes(std::vector<BoxConfig>& boxes) {
    for (const char* name : {"inbox", "outbox"}) {
        const auto has_name = [&](const BoxConfig& box) { return box.name == name; };
        if (std::ranges::any_of(boxes, has_name)) continue;
        boxes.push_back({.name = name, .options = defaults_of(name)});
    }
}

std::string LoadedConfig::place(const std::string& key) const {
    const auto found = places.find(key);
    return found == places.end() ? key + ": " : found->second;
}

bool has_target(const Config& config, const std::string& box, const std::string& key) {
    return std::ranges::any_of(config.targets, [&](const TargetConfig& one) {
        return one.target.box == box && one.target.key == key;
    });
}

LoadedConfig load_config(std::string_view text, const std::string& file,
                         const Environment& environment, Secrets secrets) {
    const Node tree = parse_toml(text, file);
    Reading reading{.file = file, .environment = environment, .secrets = secrets};
    LoadedConfig loaded;
    Section top{reading, &tree, {}};
    read_all(top, loaded.config, reading);
    StrayVariables stray = stray_variables(environment, reading.variables);
    for (std::string& one : stray.problems) reading.problems.push_back({0, std::move(one)});
    for (std::string& one : stray.warnings) reading.warnings.push_back({0, std::move(one)});
    if (!reading.problems.empty()) throw ConfigError{in_order(std::move(reading.problems))};
    loaded.warnings = in_order(std::move(reading.warnings));
    loaded.effective = std::move(reading.effective);
    loaded.config.secret_variables = std::move(reading.variables.secrets);
    loaded.places = std::move(reading.places);
    return loaded;
}

LoadedConfig load_config_file(const std::string& file, const Environment& environment,
                              Secrets secrets) {
    std::ifstream input{file, std::ios::binary};
    if (!input) {
        throw ConfigError{{file + ": cannot be read; check the path and its permissions"}};
    }
    const std::string text{std::istreambuf_iterator<char>{input}, {}};
    return load_config(text, file, environment, secrets);
}

}  // namespace waybill::server
