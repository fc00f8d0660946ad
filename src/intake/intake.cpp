#include "waybill/intake.hpp"

#include <condition_variable>
#include <mutex>
#include <utility>
#include <variant>

#include "core/sha256.hpp"
#include "core/text.hpp"
#include "intake/answers.hpp"
#include "intake/gzip.hpp"
#include "intake/identity.hpp"
#include "intake/recall.hpp"
#include "intake/seen_bodies.hpp"
#include "intake/sources.hpp"
#include "waybill/message_check.hpp"
#include "waybill/signing.hpp"
#include "waybill/system.hpp"

namespace waybill {
namespace {

using intake::Answered;
using intake::BoundSource;

/// A webhook that is to be stored, and what is known of it so far.
struct Accepted {
    Message message{};
    IntakeReport report{};
};

/// Empty: as it is.
std::string_view encoding_of(const HttpRequest& request) {
    const std::string* encoding = request.headers.find("Content-Encoding");
    const bool is_plain =
        encoding == nullptr || encoding->empty() || same_name(*encoding, "identity");
    if (request.headers.count("Content-Encoding") > 1) return "several";
    return is_plain ? std::string_view{} : *encoding;
}

std::string content_type(const HttpRequest& request) {
    const std::string* type = request.headers.find("Content-Type");
    const bool fits = type != nullptr && type->size() <= field_bytes_max && is_storable_text(*type);
    return fits ? *type : std::string{};
}

void put(Attributes& attributes, const char* name, const std::string& value) {
    if (!value.empty() && value.size() <= 1'024 && is_storable_text(value)) {
        attributes.insert_or_assign(name, value);
    }
}

}  // namespace

struct Intake::Parts {
    Parts(Waybill& the_app, std::vector<Source> the_sources, IntakeOptions the_options)
        : app(the_app),
          options(std::move(the_options)),
          clock(options.clock != nullptr ? *options.clock : system_clock()),
          seen(options.bodies_remembered),
          sources(std::make_shared<const intake::Sources>(std::move(the_sources), options)) {}

    Waybill& app;
    const IntakeOptions options;
    Clock& clock;
    intake::SeenBodies seen;

    mutable std::mutex mutex;  ///< guards everything below
    std::shared_ptr<const intake::Sources> sources;
    std::size_t under_way = 0;
    std::condition_variable all_answered;

    std::shared_ptr<const intake::Sources> current() const {
        const std::lock_guard lock{mutex};
        return sources;
    }

    /// Everything up to the append: the answer if there is one already, or what is to be stored.
    std::variant<Answered, Accepted> examine(HttpRequest& request);
    std::optional<HttpResponse> refuse_early(const HttpRequest& request, const Source& source,
                                             IntakeReport& report);
    /// What is inside a compressed body, or the answer to one that cannot be taken.
    std::variant<std::string, HttpResponse> decompress(const HttpRequest& request,
                                                       IntakeReport& report) const;
    Accepted accept(HttpRequest& request, const Source& source, Parsed parsed, IntakeReport report);
    void leave();
};

std::optional<HttpResponse> Intake::Parts::refuse_early(const HttpRequest& request,
                                                        const Source& source,
                                                        IntakeReport& report) {
    const auto refuse = [&](unsigned status, const char* code, const char* message) {
        report.outcome = code;
        return intake::error_response(status, code, message);
    };
    if (app.is_overloaded()) {
        report.outcome = "overloaded";
        return intake::later_response(report.outcome, "too much is waiting to be stored",
                                      options.retry_after);
    }
    const std::string& method = request.method;
    if (method != "POST" && method != "GET" && method != "HEAD" && method != "OPTIONS") {
        return refuse(405, "method-not-allowed", "webhooks are sent with POST");
    }
    if (request.body.size() > options.body_bytes_max) {
        return refuse(413, "body-too-large", "the body is larger than is taken here");
    }
    const std::string_view encoding = encoding_of(request);
    if (!encoding.empty() && (source.gzip == Gzip::refused || !same_name(encoding, "gzip"))) {
        return refuse(415, "encoded-body",
                      source.gzip == Gzip::refused ? "send the body without Content-Encoding"
                                                   : "the only encoding taken here is gzip");
    }
    return std::nullopt;
}

std::variant<std::string, HttpResponse> Intake::Parts::decompress(const HttpRequest& request,
                                                                  IntakeReport& report) const {
    auto decoded = intake::decode_gzip(request.body, options.body_bytes_max);
    if (auto* body = std::get_if<std::string>(&decoded)) return std::move(*body);
    const auto& refused = std::get<intake::NotDecoded>(decoded);
    report.outcome = refused.is_too_large ? "body-too-large" : "malformed";
    return intake::error_response(refused.is_too_large ? 413 : 400, report.outcome,
                                  refused.message);
}

std::variant<Answered, Accepted> Intake::Parts::examine(HttpRequest& request) {
    IntakeReport report;
    const auto known = current();
    const BoundSource* bound = known->find(request.path());
    if (bound == nullptr) {
        // As much work as for a bad signature: the time of an answer tells nobody which exist.
        static_cast<void>(signing::hmac(signing::Hash::sha256, "no such source",
                                        std::array{std::string_view{request.body}}));
        report.outcome = "not-found";
        return Answered{intake::error_response(404, report.outcome, "there is no such source"),
                        std::move(report)};
    }
    report.source = bound->source.name;
    if (auto refused = refuse_early(request, bound->source, report)) {
        return Answered{*std::move(refused), std::move(report)};
    }
    std::optional<std::string> inside;
    if (!encoding_of(request).empty()) {
        auto decoded = decompress(request, report);
        if (auto* refused = std::get_if<HttpResponse>(&decoded)) {
            return Answered{std::move(*refused), std::move(report)};
        }
        inside = std::get<std::string>(std::move(decoded));
        if (bound->source.gzip == Gzip::signed_inside) {
            request.body = *std::exchange(inside, std::nullopt);
            request.headers.set("Content-Encoding", "identity");
        }
    }
    Verdict verdict;
    try {
        verdict = bound->provider->receive({.request = request,
                                            .source = bound->source,
                                            .now = clock.wall(),
                                            .decompressed = inside ? &*inside : nullptr});
    } catch (...) {
        HttpResponse response =
            intake::failure_response(std::current_exception(), options.retry_after, report);
        return Answered{std::move(response), std::move(report)};
    }
    if (auto* handshake = std::get_if<HttpResponse>(&verdict)) {
        report.outcome = "handshake";
        return Answered{std::move(*handshake), std::move(report)};
    }
    if (const auto* rejected = std::get_if<Rejected>(&verdict)) {
        report.outcome = intake::code_of(*rejected);
        return Answered{intake::refusal(*rejected, options.retry_after), std::move(report)};
    }
    if (inside) request.body = *std::move(inside);
    return accept(request, bound->source, std::get<Parsed>(std::move(verdict)), std::move(report));
}

Accepted Intake::Parts::accept(HttpRequest& request, const Source& source, Parsed parsed,
                               IntakeReport report) {
    Attributes& attributes = parsed.attributes;
    put(attributes, "webhook.provider", source.provider);
    put(attributes, "webhook.id", parsed.id);
    report.secret = parsed.secret;
    if (parsed.secret) put(attributes, "webhook.secret", std::to_string(*parsed.secret + 1));
    report.weak_id = !parsed.id.empty() && !parsed.id_is_signed;
    if (report.weak_id) {
        const std::string hash = sha256_bytes(request.body);
        put(attributes, "webhook.id_is_weak", "true");
        put(attributes, "webhook.body_sha256", signing::to_hex(hash));
        const auto earlier = seen.note(source.name + ":" + hash, parsed.id);
        report.same_body_again = earlier.has_value();
        if (earlier) put(attributes, "webhook.same_body_as", *earlier);
    }
    Message message{.box = source.box,
                    .type = std::move(parsed.type),
                    .source = source.name,
                    .content_type = content_type(request),
                    .attributes = std::move(attributes),
                    .tenant = parsed.tenant,
                    .correlation_id = std::move(parsed.correlation_id),
                    .occurred_at = parsed.occurred_at,
                    .lane = std::move(parsed.lane),
                    .dedup_key = intake::dedup_key(source, parsed, request.body)};
    message.body = std::move(request.body);
    return {std::move(message), std::move(report)};
}

void Intake::Parts::leave() {
    const std::lock_guard lock{mutex};
    if (--under_way == 0) all_answered.notify_all();
}

Intake::Intake(Waybill& app, std::vector<Source> sources, IntakeOptions options)
    : parts_(std::make_unique<Parts>(app, std::move(sources), std::move(options))) {}

Intake::~Intake() {
    std::unique_lock lock{parts_->mutex};
    parts_->all_answered.wait(lock, [this] { return parts_->under_way == 0; });
}

HttpResponse Intake::handle(HttpRequest request) {
    auto examined = parts_->examine(request);
    if (auto* answered = std::get_if<Answered>(&examined)) return std::move(answered->response);
    auto& accepted = std::get<Accepted>(examined);
    const Duration retry_after = parts_->options.retry_after;
    try {
        const AppendResult result = parts_->app.append(std::move(accepted.message));
        return intake::append_response(result, retry_after, accepted.report);
    } catch (...) {
        return intake::failure_response(std::current_exception(), retry_after, accepted.report);
    }
}

void Intake::handle(HttpRequest request, Answer answer) {
    auto examined = parts_->examine(request);
    if (auto* answered = std::get_if<Answered>(&examined)) {
        return answer(std::move(answered->response), answered->report);
    }
    auto& accepted = std::get<Accepted>(examined);
    {
        const std::lock_guard lock{parts_->mutex};
        ++parts_->under_way;
    }
    const Duration retry_after = parts_->options.retry_after;
    try {
        parts_->app.append_async(
            std::move(accepted.message),
            [parts = parts_.get(), answer, retry_after,
             report = accepted.report](const AppendAnswer& appended) mutable {
                HttpResponse response =
                    appended.error ? intake::failure_response(appended.error, retry_after, report)
                                   : intake::append_response(appended.result, retry_after, report);
                answer(std::move(response), report);
                parts->leave();
            });
    } catch (...) {
        answer(intake::failure_response(std::current_exception(), retry_after, accepted.report),
               accepted.report);
        parts_->leave();
    }
}

void Intake::recall(Duration time) {
    Parts& parts = *parts_;
    if (!parts.current()->may_have_weak_ids()) return;
    const auto bodies = intake::weak_bodies(parts.app.catalogue(), parts.options.bodies_remembered,
                                            parts.clock, time);
    for (const intake::WeakBody& body : bodies) {
        static_cast<void>(parts.seen.note(body.source + ":" + body.hash, body.id));
    }
}

bool Intake::is_for(std::string_view path) const {
    return path.starts_with(parts_->options.prefix) || parts_->current()->find(path) != nullptr;
}

void Intake::replace_sources(std::vector<Source> sources) {
    auto fresh = std::make_shared<const intake::Sources>(std::move(sources), parts_->options);
    const std::lock_guard lock{parts_->mutex};
    parts_->sources = std::move(fresh);
}

}  // namespace waybill
