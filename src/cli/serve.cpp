#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <string>
#include <utility>

#include <sys/resource.h>

#include "cli/command.hpp"
#include "cli/open_store.hpp"
#include "core/version.hpp"
#include "server/config/here.hpp"
#include "server/config/secret.hpp"
#include "server/config/units.hpp"
#include "server/demo.hpp"
#include "server/server.hpp"
#include "waybill/providers.hpp"
#include "waybill/system.hpp"

namespace waybill::cli {
namespace {

using server::Log;
using server::LogLevel;

/// Blocked in every thread from here on, so that one place hears them.
sigset_t block_signals() {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    // A command that does not read its input must not end the server.
    ::signal(SIGPIPE, SIG_IGN);
    return signals;
}

/// 0: none yet. Waits for a moment only where there is something else to look after.
int next_signal(const sigset_t& signals, bool for_a_moment) {
    constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 50'000'000};
    if (for_a_moment) return std::max(::sigtimedwait(&signals, nullptr, &kMoment), 0);
    int signal = 0;
    ::sigwait(&signals, &signal);
    return signal;
}

void override_listen(const Arguments& arguments, server::LoadedConfig& loaded) {
    if (!arguments.has("listen")) return;
    const auto place = server::parse_host_port(arguments.value("listen"));
    if (!place) throw UsageError{"--listen is HOST:PORT, such as 127.0.0.1:8080"};
    server::ServerConfig& server = loaded.config.server;
    server.host = place->host;
    server.port = place->port;
    loaded.places["server.listen"] = "--listen: ";
    if (const std::string problem = server::problem_of_tokens(server); !problem.empty()) {
        throw ConfigError{{"--listen: server.admin_tokens " + problem + " in a configuration"}};
    }
}

/// What `check` would say, too.
void check_or_throw(const server::LoadedConfig& loaded, Log& log) {
    server::SaidHere here = server::check_here(loaded, system_clock().wall());
    for (const Problems& some : {loaded.warnings, here.warnings}) {
        for (const std::string& warning : some) log.say(LogLevel::warn, warning);
    }
    if (!here.problems.empty()) throw ConfigError{std::move(here.problems)};
}

/// A shell's usual limit is 1,024 open files, and every connection is one.
void allow_connections(std::uint32_t connections, Log& log) {
    constexpr rlim_t kOthers = 256;  // the store's, the log's
    // Requests under way, of the outbox and of all other boxes, and connections kept for the next.
    constexpr rlim_t kOutgoing = 4'096 + 4'096 + 1'024;
    const rlim_t needed = connections + kOthers;
    const rlim_t wanted = needed + kOutgoing;
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= wanted) return;
    files.rlim_cur = std::min(wanted, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur >= needed) return;
    log.say(LogLevel::warn, "server.connections_max is " + std::to_string(connections) +
                                ", but this process may open " + std::to_string(files.rlim_cur) +
                                " files at most; raise the limit (ulimit -n, LimitNOFILE=)");
}

void print_demo(const server::Server& server, const std::string& secret, const Globals& globals) {
    std::cout
        << "No configuration: this is the demo source, its messages go to this log. Try it:\n\n"
        << "  " << globals.program << " send demo --type order.placed --id order-1\n"
        << "  " << globals.program << " messages list\n\n"
        << "or from anywhere, signed with openssl:\n\n"
        << "  BODY='{\"id\":\"order-2\",\"type\":\"order.placed\"}'\n"
        << "  curl " << server.url() << "/webhooks/demo -d \"$BODY\" \\\n"
        << "    -H 'Content-Type: application/json' \\\n"
        << "    -H \"X-Demo-Signature: sha256=$(printf %s \"$BODY\" | openssl dgst -sha256 -hmac "
        << secret << " -r | cut -d' ' -f1)\"\n\n";
}

/// The demo source in the surroundings that were asked for.
server::Config with_demo(const server::Config& asked, const std::string& secret) {
    server::Config config = server::demo_config(asked.store, secret);
    config.relaxed_durability = asked.relaxed_durability;
    config.busy_timeout = asked.busy_timeout;
    config.telemetry = asked.telemetry;
    config.instance = asked.instance;
    config.server = asked.server;
    config.engine = asked.engine;
    return config;
}

void reload(server::Server& server, const Arguments& arguments, const Globals& globals, Log& log) {
    try {
        server::LoadedConfig loaded = load(globals);
        override_listen(arguments, loaded);
        check_or_throw(loaded, log);
        server.reload(loaded.config);
        log.say(LogLevel::info, "reloaded");
    } catch (const ConfigError& error) {
        for (const std::string& problem : error.problems()) log.say(LogLevel::error, problem);
        log.say(LogLevel::error, "not reloaded: the old configuration stays in force");
    } catch (const std::exception& error) {
        log.write(LogLevel::error, "not reloaded: the old configuration stays in force",
                  {{"reason", error.what()}});
    }
}

int serve(const Arguments& arguments, const Globals& asked) {
    // The file of the start is the file of every reload: one that is gone is a mistake, not a wish
    // for the defaults.
    Globals globals = asked;
    globals.config_file = config_file(asked);
    const sigset_t signals = block_signals();
    Log log{globals.log_level, globals.log_format, system_clock()};
    if (Problems broken = providers::self_test(); !broken.empty()) {
        throw ConfigError{std::move(broken)};
    }
    const bool is_demo = globals.config_file.empty();
    server::LoadedConfig loaded = load(globals);
    override_listen(arguments, loaded);
    check_or_throw(loaded, log);
    auto store = open_for_command(loaded.config,
                                  "stop that one first, or use another store: --store sqlite:PATH");
    std::string secret;
    if (is_demo) {
        secret = server::demo_secret(*store);
        loaded.config = with_demo(loaded.config, secret);
    }
    if (loaded.config.relaxed_durability) {
        log.say(LogLevel::warn,
                "durability is relaxed: a power cut may lose what was acknowledged");
    }
    allow_connections(loaded.config.server.connections_max, log);
    server::Server server{loaded.config, log, std::move(store)};
    std::cout << "waybill " << version_text << " listens on " << server.address() << ", store "
              << server::masked_url(loaded.config.store) << "\n";
    if (is_demo) print_demo(server, secret, globals);
    std::cout << std::flush;

    bool wants_reload = false;
    for (;;) {
        const int signal = next_signal(signals, wants_reload);
        if (signal == SIGTERM || signal == SIGINT) break;
        if (signal == SIGHUP && is_demo) {
            log.say(LogLevel::info, "nothing to reload: there is no configuration file");
        } else if (signal == SIGHUP) {
            wants_reload = true;
        }
        // What runs under the configuration before this one may take its time, and SIGTERM is to be heard.
        if (wants_reload && server.may_reload()) {
            reload(server, arguments, globals, log);
            wants_reload = false;
        }
    }
    log.say(LogLevel::info, "stopping");
    server.stop();
    log.say(LogLevel::info, "stopped");
    return 0;
}

}  // namespace

Command serve_command() {
    return {
        .name = "serve",
        .summary =
            "Takes webhooks in and hands them to their targets, until SIGTERM; SIGHUP reloads",
        .usage = "serve [--listen HOST:PORT]",
        .options = {{"listen", "HOST:PORT", "overrides the configuration; default 127.0.0.1:8080"}},
        .examples =
            "  waybill serve                               the demo, on ./waybill.db\n"
            "  waybill serve --config /etc/waybill.toml\n"
            "  waybill serve --listen 127.0.0.1:0 --store memory:\n",
        .run = serve};
}

}  // namespace waybill::cli
