#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "deliver/keyring.hpp"
#include "waybill/runtime.hpp"

namespace waybill::deliver {

/// Looks up secrets of tenants on threads of its own, a few side by side: a vault that is slow for one holds up
/// neither the others nor what the store is to be told. Who asks for the same tenant meanwhile shares the search.
/// Nobody waits long: the search goes on without him, and what it found is there when he comes back. He comes back when
/// it has taken as long again: thousands may wait, and each is written to the store whenever he is put off.
///
/// Thread safety: any thread; who asked is answered on any.
/// Lifetime:      the keyring outlives it. The destructor waits for what is being looked up and answers nobody.
class SecretSearch {
public:
    struct Answer {
        enum class Kind : std::uint8_t {
            found,
            none,
            failed,
            late  ///< not yet: come back
        } kind{};
        /// The secret, or why it could not be had.
        std::string text{};
        /// Of `late`: after so long.
        Duration come_back{};
    };
    /// May block and throw.
    using Find = std::function<std::optional<std::string>(const std::string& tenant)>;
    using Then = std::function<void(const Answer&)>;

    /// Shorter than what the engine leaves a request beyond its own timeout (subscription.cpp), so that whoever
    /// waited for a secret still has all of that.
    static constexpr Duration patience_usual = std::chrono::seconds{3};
    static constexpr Duration come_back_least = std::chrono::seconds{1};
    /// What could not be had is believed for a little longer than this.
    static constexpr Duration come_back_most = std::chrono::seconds{15};
    static constexpr std::size_t side_by_side = 4;
    static constexpr std::size_t waiting_most = 1'000;

    SecretSearch(Find find, Keyring& keyring, Clock& clock, Duration patience = patience_usual);
    ~SecretSearch();
    SecretSearch(const SecretSearch&) = delete;
    SecretSearch& operator=(const SecretSearch&) = delete;

    void ask(const std::string& tenant, Then then);

private:
    struct Search {
        std::vector<Then> waiting{};
        LocalTime patient_until{};
        bool was_late = false;
    };
    /// Of a search that somebody had no patience for.
    struct LeftBehind {
        Answer answer{};
        LocalTime until{};
    };

    static Duration comes_back_after(const Search& search, LocalTime now);
    static Answer late(const Search& search, LocalTime now);
    std::optional<Answer> answer_now(const std::string& tenant, LocalTime now);
    Answer look_up(const std::string& tenant) const;
    void keep(const std::string& tenant, const Answer& answer, const Search& over);
    void search();
    void watch_patience();
    /// With what they are to be told.
    std::vector<std::pair<Then, Answer>> impatient(LocalTime now);

    const Find find_;
    Keyring& keyring_;
    Clock& clock_;
    const Duration patience_;

    std::mutex mutex_{};  ///< guards the four below
    std::map<std::string, Search> searches_{};
    std::deque<std::string> queue_{};
    std::map<std::string, LeftBehind> left_behind_{};
    bool stopping_ = false;
    std::condition_variable queued_{};
    std::condition_variable asked_{};
    std::vector<std::thread> threads_{};  // lint: allow(seams) its own threads are the point
};

}  // namespace waybill::deliver
