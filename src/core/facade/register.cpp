#include <utility>

#include "core/facade/parts.hpp"

/// How boxes and targets are described.
namespace waybill {
namespace {

RegisteredTarget target_of(std::string type, std::string key, On on, Calls calls) {
    RegisteredTarget registered;
    registered.local.target = {
        .key = std::move(key),
        .matcher = {std::move(type), std::move(on.source), std::move(on.tenant)},
        .legacy_keys = std::move(on.legacy_keys),
        .after = std::move(on.after),
        .after_dead = on.after_dead,
    };
    registered.local.options = {
        .retry = {on.max_attempts, std::move(on.backoff)},
        .timeout = on.timeout,
        .concurrency = on.concurrency,
        .rate = on.rate,
        .calls = calls,
        .batch_max = on.batch_max,
        .ends_by_itself = on.ends_by_itself,
    };
    return registered;
}

}  // namespace

On on_like(const Preset& preset) {
    return {
        .after_dead = preset.after_dead,
        .max_attempts = preset.target.retry.max_attempts,
        .backoff = preset.target.retry.backoff,
        .timeout = preset.target.timeout,
        .concurrency = preset.target.concurrency,
        .rate = preset.target.rate,
        .batch_max = preset.target.batch_max,
        .ends_by_itself = preset.target.ends_by_itself,
    };
}

void Waybill::Parts::must_be_stopped(const char* what) {
    if (running()) {
        throw ConfigError{
            {std::string{what} + " while the application runs; do it before start()"}};
    }
}

Box Waybill::Parts::add_box(Waybill& app, std::string name, BoxOptions options) {
    must_be_stopped("a box was added");
    boxes.push_back({std::move(name), options});
    declared = false;
    return {app, boxes.size() - 1};
}

void Waybill::Parts::add_target(std::size_t box, RegisteredTarget target) {
    must_be_stopped("a target was added");
    target.local.target.box = boxes[box].name;
    boxes[box].targets.push_back(std::move(target));
    declared = false;
}

Box Waybill::inbox(std::string name, BoxOptions options) {
    return parts_->add_box(*this, std::move(name), options);
}

Box Waybill::outbox(std::string name, BoxOptions options) {
    if (options.unmatched == BoxOptions{}.unmatched) options.unmatched = Unmatched::done;
    return parts_->add_box(*this, std::move(name), options);
}

Box Waybill::box(std::string name, BoxOptions options) {
    return parts_->add_box(*this, std::move(name), options);
}

void Waybill::observe(Observer& observer) {
    parts_->must_be_stopped("an observer was added");
    parts_->observers.add(observer);
}

void Waybill::on_start(std::function<void()> hook) {
    parts_->must_be_stopped("a start hook was added");
    parts_->start_hooks.push_back(std::move(hook));
}

void Waybill::on_stop(std::function<void()> hook) {
    parts_->must_be_stopped("a stop hook was added");
    parts_->stop_hooks.push_back(std::move(hook));
}

Box Box::add(std::string type, std::string key, Handler handler, On options) {
    auto target = target_of(std::move(type), std::move(key), std::move(options), Calls::single);
    target.handler = std::move(handler);
    app_->parts_->add_target(index_, std::move(target));
    return *this;
}

Box Box::add_batch(std::string type, std::string key, BatchHandler handler, On options) {
    auto target = target_of(std::move(type), std::move(key), std::move(options), Calls::batch);
    target.batch_handler = std::move(handler);
    app_->parts_->add_target(index_, std::move(target));
    return *this;
}

Box Box::add_inline(std::string type, std::string key, InlineHandler handler, On options) {
    auto target =
        target_of(std::move(type), std::move(key), std::move(options), Calls::inline_single);
    target.inline_handler = std::move(handler);
    app_->parts_->add_target(index_, std::move(target));
    return *this;
}

Box Box::to(std::string type, std::string key, std::shared_ptr<Executor> executor, On options) {
    auto target = target_of(std::move(type), std::move(key), std::move(options), Calls::single);
    target.executor = std::move(executor);
    app_->parts_->add_target(index_, std::move(target));
    return *this;
}

Box Box::to_subscriptions(std::shared_ptr<TargetFamily> family) {
    app_->parts_->must_be_stopped("subscriptions were added");
    family->on_change([relay = app_->parts_->wakes] { relay->wake(); });
    app_->parts_->boxes[index_].family = std::move(family);
    return *this;
}

}  // namespace waybill
