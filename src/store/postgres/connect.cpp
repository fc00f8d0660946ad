#include "connect.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <poll.h>

#include "commit_watch.hpp"
#include "core/wording.hpp"
#include "waybill/store.hpp"
#include "waybill/system.hpp"

namespace waybill::postgres {
namespace {

using Words = std::map<std::string, std::string>;

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> items;
    std::size_t begin = 0;
    for (std::size_t comma = list.find(','); comma != std::string::npos;
         comma = list.find(',', begin)) {
        items.push_back(list.substr(begin, comma - begin));
        begin = comma + 1;
    }
    items.push_back(list.substr(begin));
    return items;
}

[[noreturn]] void refuse(const std::string& why) {
    throw StoreError{Reaction::back_off, "postgres store: connect: " + why};
}

std::string without_line_end(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

/// What the user says, and what we say where the user is silent.
Words parse(const std::string& conninfo) {
    Words words{{"application_name", "waybill"},
                {"keepalives_idle", "5"},
                {"keepalives_interval", "2"},
                {"keepalives_count", "2"},
                {"tcp_user_timeout", "9000"}};
    char* error = nullptr;
    PQconninfoOption* const options = PQconninfoParse(conninfo.c_str(), &error);
    if (options == nullptr) {
        const std::string why = error == nullptr ? "out of memory" : error;
        PQfreemem(error);
        refuse(without_line_end(why));
    }
    for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
        if (option->val != nullptr) words[option->keyword] = option->val;
    }
    PQconninfoFree(options);
    words["client_encoding"] = "UTF8";
    return words;
}

/// One for each host. Of several the one that writes is meant, unless the user says otherwise.
std::vector<Words> hosts_of(const Words& words) {
    std::size_t count = 1;
    std::map<std::string, std::vector<std::string>> lists;
    for (const char* name : {"host", "hostaddr", "port"}) {
        if (!words.contains(name)) continue;
        lists[name] = split(words.at(name));
        if (std::string{name} != "port") count = std::max(count, lists[name].size());
    }
    std::vector<Words> hosts(count, words);
    for (std::size_t i = 0; i < count && count > 1; ++i) {
        hosts[i].try_emplace("target_session_attrs", "read-write");
        for (const auto& [name, list] : lists) {
            // One port is for all of them.
            if (i < list.size() || list.size() == 1) {
                hosts[i][name] = list[std::min(i, list.size() - 1)];
            }
        }
    }
    return hosts;
}

struct Close {
    void operator()(PGconn* connection) const { PQfinish(connection); }
};
using Connection = std::unique_ptr<PGconn, Close>;

/// Null, and why.
Connection try_host(const Words& words, LocalTime until, std::string& why) {
    std::vector<const char*> names;
    std::vector<const char*> values;
    for (const auto& [name, value] : words) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    const LocalTime begin = system_clock().now();
    Connection connection{PQconnectStartParams(names.data(), values.data(), 0)};
    if (connection == nullptr) refuse("out of memory");
    for (PostgresPollingStatusType next = PGRES_POLLING_WRITING; next != PGRES_POLLING_OK;
         next = PQconnectPoll(connection.get())) {
        const bool is_refused =
            PQstatus(connection.get()) == CONNECTION_BAD || next == PGRES_POLLING_FAILED;
        if (is_refused) {
            why = without_line_end(PQerrorMessage(connection.get()));
            return nullptr;
        }
        if (!wait_for_socket(PQsocket(connection.get()), next == PGRES_POLLING_WRITING, until)) {
            const char* const host = PQhost(connection.get());
            why = std::string{host == nullptr ? "the server" : host} + " was silent for " +
                  detail::readable(system_clock().now() - begin);
            return nullptr;
        }
    }
    return connection;
}

}  // namespace

bool wait_for_socket(int socket, bool to_write, LocalTime until) {
    for (;;) {
        int patience_ms = -1;
        if (until != local_never) {
            const Duration left = until - system_clock().now();
            if (left <= Duration{}) return false;
            const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
            patience_ms = static_cast<int>(std::min<std::int64_t>(ms, 60'000));
        }
        pollfd one{socket, static_cast<short>(to_write ? POLLIN | POLLOUT : POLLIN), 0};
        if (::poll(&one, 1, patience_ms) > 0) return true;
    }
}

PGconn* open_connection(const Address& address, LocalTime until) {
    const std::vector<Words> hosts = hosts_of(parse(address.conninfo));
    const std::size_t first = *address.last_host;
    std::string reasons;
    for (std::size_t tried = 0; tried < hosts.size(); ++tried) {
        const std::size_t host = (first + tried) % hosts.size();
        const auto left = static_cast<Duration::rep>(hosts.size() - tried);
        const LocalTime now = system_clock().now();
        const LocalTime share = until == local_never ? until : now + (until - now) / left;
        std::string why;
        if (Connection connection = try_host(hosts[host], share, why)) {
            *address.last_host = host;
            PQsetnonblocking(connection.get(), 1);
            ignore_notices(connection.get());
            return connection.release();
        }
        reasons += (reasons.empty() ? "" : "; ") + why;
    }
    refuse(reasons);
}

namespace {

std::int64_t in_ms(Duration time) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
}

/// The server ends a statement a little before we stop waiting: then we know that nothing was applied.
std::int64_t statement_timeout_ms(Duration deadline) {
    return std::max<std::int64_t>(in_ms(deadline) * 4 / 5, 1);
}

}  // namespace

std::string session_settings(const Address& address, bool is_local) {
    std::string text;
    const auto set = [&](const std::string& assignment) {
        text += (is_local ? "set local " : "set ") + assignment + ";";
    };
    set("standard_conforming_strings = on");
    if (!is_local) set("default_transaction_isolation = 'read committed'");
    set("jit = off");
    // What a commit warns of must be heard.
    set("client_min_messages = warning");
    // A session that does not wait for the disk, or for the standby that the server is to wait for, would acknowledge
    // what may get lost. Whoever asks for more (a standby that has applied it) keeps it. It is set in any case, so that it
    // stays when the server's configuration is read again.
    text +=
        std::string{
            "select set_config('synchronous_commit', case when current_setting("
            "'synchronous_commit') in ('off', 'local') then 'on' else current_setting("
            "'synchronous_commit') end, "} +
        (is_local ? "true" : "false") + ");";
    if (address.role != Role::handler) {
        const std::int64_t limit = statement_timeout_ms(address.deadline);
        set("statement_timeout = " + std::to_string(limit));
        set("lock_timeout = " + std::to_string(std::max<std::int64_t>(limit / 2, 1)));
        set("idle_in_transaction_session_timeout = " + std::to_string(in_ms(address.idle_max)));
        // Ours name their schema; nobody's functions in another one are called instead.
        set("search_path = pg_catalog, pg_temp");
    }
    // Tables that fill and empty have statistics that are never true: plans do not depend on them.
    if (address.role != Role::handler) set("enable_seqscan = off");
    if (address.role == Role::hot) {
        set("enable_hashjoin = off");
        set("enable_mergejoin = off");
        set("plan_cache_mode = force_generic_plan");
        set("work_mem = '32MB'");
    }
    return text;
}

}  // namespace waybill::postgres
