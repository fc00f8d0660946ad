#include "server/config/advice.hpp"
#include "server/config/parts.hpp"
#include "transport/http_out/http_out.hpp"
#include "waybill/webhook.hpp"

namespace waybill::server {
namespace {

/// A warning, not a problem: it may be there by the time it is needed.
void warn_if(Section& section, const std::string& key, const std::string& advice) {
    if (!advice.empty()) section.warn(key, advice);
}

void read_target(Section& section, TargetConfig& config, const std::vector<Source>& sources,
                 const EgressConfig& egress) {
    Target& target = config.target;
    target.box = "inbox";
    section.text("key", target.key);
    section.text("box", target.box);
    Section match = section.table("match");
    match.text("source", target.matcher.source);
    match.text("type", target.matcher.type);
    match.text("tenant", target.matcher.tenant);
    match.finish();
    warn_if(match, "source", advice_on_source(target.matcher.source, sources));
    section.url("url", config.url);
    section.texts("command", config.command);
    if (!config.command.empty()) {
        const std::string* const found = variable(section.environment(), "PATH");
        const std::string path = found != nullptr ? *found : "/usr/bin:/bin";
        warn_if(section, "command", advice_on_program(config.command.front(), path));
    }
    section.boolean("log", config.log);
    section.secret("secret", config.secret);
    if (!config.secret.empty()) {
        const auto set = webhook::HeaderSet::standard;
        const std::string problem = webhook::problem_of_secret(config.secret, set);
        if (!problem.empty()) section.problem("secret", problem);
    }
    section.text("after", target.after);
    section.choice("after_dead", target.after_dead,
                   {{"block", AfterDead::block}, {"go_on", AfterDead::go_on}});
    read_retry(section.table("retry"), config.options.retry);
    section.duration("timeout", config.options.timeout);
    section.number("concurrency", config.options.concurrency, 0, 100'000);
    section.rate("rate", config.options.rate);
    section.texts("legacy_keys", target.legacy_keys);

    const int executors =
        (config.url.empty() ? 0 : 1) + (config.command.empty() ? 0 : 1) + (config.log ? 1 : 0);
    if (executors != 1) {
        section.problem({},
                        "a target needs exactly one of url = \"…\", command = [\"…\"] and "
                        "log = true");
    }
    if (!config.url.empty()) {
        const std::string problem = http_out::problem_of_url(config.url);
        if (!problem.empty()) section.problem("url", in_quotes(masked_url(config.url)) + problem);
        if (const std::string blocked = problem_of_egress(egress, config.url); !blocked.empty()) {
            section.problem("url", in_quotes(masked_url(config.url)) + blocked);
        }
    }
    for (const std::string& text : check(target, config.options)) section.problem({}, text);
}

}  // namespace

void read_retry(Section section, RetryPolicy& retry) {
    section.number("max_attempts", retry.max_attempts, 1, 1'000);
    section.duration("base", retry.backoff.base);
    section.real("multiplier", retry.backoff.multiplier, 1, 100);
    section.duration("cap", retry.backoff.cap);
    double jitter = retry.backoff.jitter.share;
    section.real("jitter", jitter, 0, 1);
    retry.backoff.jitter = Jitter::symmetric(jitter);
    section.durations("schedule", retry.backoff.schedule);
    section.finish();
}

void read_targets(Section& top, Config& config, Reading& reading) {
    for (Section& section : top.tables("targets")) {
        reading.effective += "\n[[targets]]\n";
        TargetConfig target;
        read_target(section, target, config.sources, config.egress);
        check_box(section, target.target.box, config);
        section.finish();
        config.targets.push_back(std::move(target));
    }
    for (const BoxConfig& box : config.boxes) {
        std::vector<Target> together;
        for (const TargetConfig& one : config.targets) {
            if (one.target.box == box.name) together.push_back(one.target);
        }
        for (const std::string& text : check_together(together)) top.problem("targets", text);
    }
}

}  // namespace waybill::server
