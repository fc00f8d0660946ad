#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "waybill/executor.hpp"
#include "waybill/notebook.hpp"
#include "waybill/store_handle.hpp"
#include "waybill/subscription.hpp"

/// Webhooks out: what is published reaches every subscription as a signed request. Link waybill::deliver.
namespace waybill {

namespace http_out {
struct Egress;
}

/// Where requests may go besides public addresses.
struct EgressOptions {
    /// Loopback and private networks; never link-local ones, where clouds keep their secrets.
    bool allow_private = false;
    /// "127.0.0.1/32", "fd00::/8": these come before all that is denied.
    std::vector<std::string> allow{};
    bool https_only = false;
    /// Empty: any.
    std::vector<std::uint16_t> ports{};
};
/// Throws ConfigError for what is no network.
std::shared_ptr<const http_out::Egress> make_egress(const EgressOptions& options);

/// Where subscriptions come from: a SubscriptionBook, a list, or a table of your own.
///
/// Thread safety: called by one thread at a time; may block.
/// Errors:        whatever it throws is reported, and what was read last stays in force.
class SubscriptionReader {
public:
    virtual ~SubscriptionReader() = default;
    /// All of them. Nothing: the same as last time.
    virtual std::optional<std::vector<Subscription>> read() = 0;
};

/// Always these.
class FixedSubscriptions final : public SubscriptionReader {
public:
    explicit FixedSubscriptions(std::vector<Subscription> all) : all_(std::move(all)) {}
    std::optional<std::vector<Subscription>> read() override {
        return std::exchange(all_, std::nullopt);
    }

private:
    std::optional<std::vector<Subscription>> all_;
};

/// How a subscription fails, as whoever sends to it last wrote it down: when it was left alone for a while, not
/// with every failure. For people; it has no secret in it.
struct SubscriptionFailing {
    /// It has not succeeded once since then, across restarts.
    StoreTime since{};
    /// In a row.
    std::uint32_t failures = 0;
    /// Of the last one.
    std::string error{};
    /// Until then it is left alone; afterwards one request finds out whether it is back. 0: it is not.
    StoreTime rests_until{};
    /// Who wrote it.
    std::string instance{};

    bool operator==(const SubscriptionFailing&) const = default;
};

/// What became of a subscription that stands elsewhere, in a configuration or in a table of your own: its answers
/// disabled it, or people let it go on or skip. In the store, so that it outlives the process and all instances
/// know it.
struct SubscriptionStanding {
    /// `active`: as whoever names it says.
    Subscription::State state = Subscription::State::active;
    /// Why it is not active.
    std::string reason{};
    /// As in Subscription.
    StoreTime skip_before{};
    StoreTime changed_at{};
    /// What stands for the URL that was disabled: another one is another endpoint, and gets its chance.
    std::string endpoint{};

    bool operator==(const SubscriptionStanding&) const = default;
};
/// What was said of a subscription becomes what is in force.
void apply(const SubscriptionStanding& standing, Subscription& subscription);

/// Subscriptions in the store, beside the messages: all its instances share them. Secrets are sealed when
/// there is a key.
///
/// Thread safety: any thread.
/// Lifetime:      the notebook outlives it.
/// Errors:        StoreError. ConfigError with all problems of a subscription, before anything changed.
class SubscriptionBook {
public:
    /// `key`: any text of 16 characters or more; empty: secrets are kept as they are.
    SubscriptionBook(Notebook& notebook, StoreHandle store, const std::string& key = {});

    std::vector<Subscription> list();
    std::optional<Subscription> find(const Uuid& id);
    /// A new one; its id is made unless it has one. It gets every message that is published after this
    /// returned.
    Subscription add(Subscription subscription);
    /// What `change` makes of it, in one piece, whoever else changes it. Nothing: there is none.
    std::optional<Subscription> change(const Uuid& id,
                                       const std::function<void(Subscription&)>& change);
    /// What waits for it counts no longer. False: there is none.
    bool remove(const Uuid& id);
    /// By its answers, wherever it stands: messages wait until somebody lets it go on. `subscription`: as it was in
    /// force when it answered; one that somebody changed since stays as it is, like one that is not active.
    void disable(const Subscription& subscription, const std::string& reason);

    /// Of those that stand elsewhere. Nothing: as whoever names it says.
    std::optional<SubscriptionStanding> standing(const Uuid& id);
    std::vector<std::pair<Uuid, SubscriptionStanding>> standings();
    /// What `change` makes of it, in one piece; `state = active` lets it go on, everywhere.
    SubscriptionStanding change_standing(const Uuid& id,
                                         const std::function<void(SubscriptionStanding&)>& change);
    /// Nobody names it any more.
    void drop_standing(const Uuid& id);

    /// Another text whenever something changed.
    std::string version();

    /// Nothing: it is well, as far as anybody wrote.
    std::optional<SubscriptionFailing> failing(const Uuid& id);
    /// All that were written down, of subscriptions that stand elsewhere too.
    std::vector<std::pair<Uuid, SubscriptionFailing>> failing();
    /// Keeps the earliest `since`. Nothing: it is well again.
    void note_failing(const Uuid& id, std::optional<SubscriptionFailing> failing);

private:
    void write(const Subscription& subscription);
    Subscription read(const std::string& text, const Uuid& id) const;
    std::unique_ptr<Notebook::Hold> alone();
    /// By whoever is alone().
    std::optional<Subscription> change_alone(const Uuid& id,
                                             const std::function<void(Subscription&)>& change);
    SubscriptionStanding change_standing_alone(
        const Uuid& id, const std::function<void(SubscriptionStanding&)>& change);
    void tell_version();
    void end_rest(const Uuid& id, bool is_elsewhere_now);

    Notebook& notebook_;
    StoreHandle store_;
    /// Empty: secrets are kept as they are.
    std::string key_;
};

/// Those in the book, read again when they changed.
std::shared_ptr<SubscriptionReader> reader_of(std::shared_ptr<SubscriptionBook> book);

/// What one request came to, for logs and metrics: no secret, no body.
struct DeliveryReport {
    Uuid subscription{};
    Uuid message{};
    /// 0: no answer.
    unsigned status = 0;
    /// "", "dns", "connect", "tls", "timeout", "http", "blocked", "cancelled"
    std::string_view failure{};
    /// Of the egress guard: "", "loopback", …
    std::string_view verdict{};
    Duration took{};
};

/// What a person should know of a subscription.
struct SubscriptionNews {
    enum class Kind : std::uint8_t {
        failing,    ///< it is left alone for a while
        recovered,  ///< it answers again
        disabled,   ///< by its answers; messages wait
        unreadable  ///< a reader failed, or a subscription is no good
    } kind{};
    Uuid subscription{};
    std::string text{};
};

/// How many subscriptions there are of each kind.
struct SubscriptionCounts {
    std::uint64_t active = 0;
    /// Active, but left alone for a while here.
    std::uint64_t left_alone = 0;
    std::uint64_t paused = 0;
    std::uint64_t disabled = 0;
    /// Those with a `problem`.
    std::uint64_t unusable = 0;

    bool operator==(const SubscriptionCounts&) const = default;
};

/// How requests are made.
struct DeliverOptions {
    /// Of make_egress(). Null: nowhere but to public addresses.
    std::shared_ptr<const http_out::Egress> egress{};
    /// More of an answer is not read.
    std::uint64_t response_bytes_max = std::uint64_t{64} << 10;
    /// PEM; empty: whom the system trusts, and nothing of ours.
    std::string ca_file{};
    std::string certificate_file{};
    std::string key_file{};
    /// "http://host:port"; empty: none.
    std::string proxy{};
    /// The secret of a tenant, at the time of sending; it comes before a subscription's own. Nothing: there is
    /// none. May block, also on several threads at once, and throw: then the attempt fails, and nothing is sent.
    /// What takes longer than 3 s is waited for without costing an attempt.
    std::function<std::optional<std::string>(const std::string& tenant)> tenant_secret{};
    /// How long it is believed; that there is none, for 5 s at most. 0: not at all.
    Duration secret_ttl = std::chrono::minutes{5};
    /// Between two looks at the readers.
    Duration refresh = std::chrono::seconds{1};
    /// Who writes down that a subscription fails, for people. Empty: this host and process.
    std::string instance{};
    /// On a thread of its own: neither block nor throw.
    std::function<void(const DeliveryReport&)> on_delivery{};
    std::function<void(const SubscriptionNews&)> on_news{};
    /// Null: this host's own.
    Clock* clock = nullptr;
};

/// Carries out the subscriptions of a box:
///
///     auto deliverer = std::make_shared<waybill::Deliverer>(store, readers, book);
///     app.outbox("outbox").to_subscriptions(deliverer);
///
/// A request is an open file: it raises this process's soft limit (RLIMIT_NOFILE) to 6,144, if the hard one lets it.
///
/// Thread safety: any thread.
/// Lifetime:      readers, notebook and what the callbacks use outlive it. The destructor cancels what is
///                under way.
/// Errors:        prepare() and refresh() throw StoreError; otherwise a failure is an outcome.
class Deliverer final : public TargetFamily {
public:
    /// `book`: where those that fail, or are disabled by their answers, are written down, whoever names them. Null: that
    /// is forgotten with the process.
    Deliverer(StoreHandle store, std::vector<std::shared_ptr<SubscriptionReader>> readers,
              std::shared_ptr<SubscriptionBook> book, DeliverOptions options = {});
    ~Deliverer() override;

    void start(std::vector<Job> jobs) override;
    void cancel(std::span<const std::uint64_t> numbers) override;
    std::uint64_t version() const override;
    TargetOptions options_of(const std::string& key) override;
    void on_change(std::function<void()> changed) override;
    /// 4,096; fewer where this process may not have so many files open.
    std::uint32_t at_once() const override;

    /// refresh(), so that nothing is published between the start and the first look.
    void prepare() override;

    /// Looks at the readers now; returns when what they say is in force here and registered.
    void refresh();
    /// Those in force.
    std::vector<Subscription> subscriptions() const;
    /// Those of them that get nothing: `problem` or `reason` says why. Not those that people paused.
    std::vector<Subscription> unusable() const;
    SubscriptionCounts counts() const;

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace waybill
