#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "waybill/http.hpp"
#include "waybill/provider.hpp"
#include "waybill/source.hpp"
#include "waybill/waybill.hpp"

/// Webhooks in, for any HTTP server: verified, stored, then answered. Link waybill::intake.
namespace waybill {

/// How an intake behaves towards all its sources.
struct IntakeOptions {
    /// Where sources are found: POST {prefix}{source}.
    std::string prefix = "/webhooks/";
    /// Larger bodies are answered with 413. Refuse them earlier while reading, if you can.
    std::uint64_t body_bytes_max = 1ULL << 20;
    /// What a sender is told to wait when it must come again.
    Duration retry_after = std::chrono::seconds{5};
    /// Bodies remembered to notice one that comes again under another id. 0: none.
    std::uint32_t bodies_remembered = 16'384;
    /// Your own, beside those of waybill::providers. A key that is known already is an error.
    std::vector<std::shared_ptr<const Provider>> providers{};
    /// Null: this host's own.
    Clock* clock = nullptr;
};

/// What became of a request, for logs and metrics: no secret, no body.
struct IntakeReport {
    /// Empty: none of ours.
    std::string source{};
    /// "accepted", "duplicate", "conflict" (the same id with another body; answered as a duplicate),
    /// "handshake", or the code of the error.
    std::string outcome{};
    /// Of the message, or of the first one with this id.
    Uuid message{};
    /// Which secret of the source matched.
    std::optional<std::size_t> secret{};
    /// The id is not covered by the signature.
    bool weak_id = false;
    /// Such an id came with a body that was seen before under another one: a replay, perhaps.
    bool same_body_again = false;
};

/// Takes webhooks in. A 202, and a duplicate's 200, leave only after the commit.
///
///     waybill::Intake intake{app, {{.name = "stripe", .provider = "stripe", .secrets = {secret}}}};
///     const waybill::HttpResponse response = intake.handle(std::move(request));
///
/// Thread safety: any thread.
/// Lifetime:      the application outlives it. The destructor waits for answers under way.
/// Errors:        ConfigError with all problems of the sources. A request is always answered.
class Intake {
public:
    using Answer = std::function<void(HttpResponse, const IntakeReport&)>;

    Intake(Waybill& app, std::vector<Source> sources, IntakeOptions options = {});
    ~Intake();
    Intake(const Intake&) = delete;
    Intake& operator=(const Intake&) = delete;

    /// Waits for the commit.
    HttpResponse handle(HttpRequest request);
    /// Verifies at once and returns; `answer` is called exactly once, here or later from another
    /// thread, and neither blocks nor throws. So a server needs no thread per waiting request.
    void handle(HttpRequest request, Answer answer);

    /// Reads back from the store under which ids nobody signed the newest bodies came, so that one that
    /// comes again under another id is noticed after a restart too. Takes no longer than `time`, and
    /// nothing where all ids are signed. Call it when the application is started. Throws StoreError.
    void recall(Duration time = std::chrono::seconds{1});

    /// Whether a request with this path is for the intake; it answers 404 to all others.
    bool is_for(std::string_view path) const;
    /// All at once; requests under way keep the old ones. Throws ConfigError and changes nothing.
    void replace_sources(std::vector<Source> sources);

private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
};

}  // namespace waybill
