#include "owner_lock.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.hpp"
#include "core/wording.hpp"
#include "waybill/store.hpp"

namespace waybill::sqlite {
namespace {

constexpr std::size_t kNameMax = 200;

std::string read_all(int descriptor) {
    std::array<char, 512> bytes{};
    const ssize_t count = ::pread(descriptor, bytes.data(), bytes.size(), 0);
    return count <= 0 ? std::string{} : std::string{bytes.data(), static_cast<std::size_t>(count)};
}

StoreError taken(const std::string& path, const std::string& owner) {
    const std::size_t line_end = owner.find('\n');
    const std::string pid = clean_text(owner.substr(0, line_end), kNameMax);
    std::string name =
        line_end == std::string::npos ? "" : clean_text(owner.substr(line_end + 1), kNameMax);
    while (name.ends_with('\n')) name.pop_back();
    std::string text = path + " says that the database is in use";
    if (!pid.empty()) {
        text += pid == std::to_string(::getpid()) ? " by this process (pid " + pid
                                                  : " by process " + pid;
        if (pid == std::to_string(::getpid())) text += ")";
        if (!name.empty()) text += ", instance " + detail::in_quotes(name);
    }
    text +=
        "; one process at a time may have it: stop that one, talk to it, or, in the same process, "
        "use connect() of the store that is open";
    return {Reaction::back_off, "sqlite store: " + text};
}

/// As SQLite does with its journal: whoever may not read the database need not know who has it, and
/// whoever may write it can take over. One that is not there yet gets what SQLite gives it.
mode_t rights_of(const std::string& database) {
    struct stat file {};
    return ::stat(database.c_str(), &file) == 0 ? (file.st_mode & 0666U) | 0600U : 0644;
}

/// The lock and the journal lie beside one name of a file: who comes by another sees neither.
void must_be_one_file_with_one_name(const std::string& database) {
    struct stat file {};
    if (::stat(database.c_str(), &file) != 0) return;
    if (S_ISDIR(file.st_mode)) {
        throw StoreError{Reaction::give_up,
                         "sqlite store: " + database + " is a folder; name a file in it"};
    }
    if (file.st_nlink <= 1) return;
    throw StoreError{
        Reaction::give_up,
        "sqlite store: " + database + " has " + std::to_string(file.st_nlink) +
            " names (hard links), and who opens it by another one sees neither its lock nor its "
            "journal; remove the other names, or make them copies"};
}

}  // namespace

OwnerLock::OwnerLock(const std::string& database) : path_(database + "-owner") {
    must_be_one_file_with_one_name(database);
    const mode_t rights = rights_of(database);
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, rights);
    if (descriptor_ < 0) {
        throw StoreError{Reaction::give_up,
                         "sqlite store: cannot open " + path_ + ": " + std::strerror(errno) +
                             "; the folder must exist and be writable for this user"};
    }
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    // Of the open file, not of the process: it cannot be lost by closing another descriptor.
    if (::fcntl(descriptor_, F_OFD_SETLK, &lock) != 0) {
        const int error = errno;
        const std::string owner = read_all(descriptor_);
        ::close(descriptor_);
        if (error == EAGAIN || error == EACCES) throw taken(path_, owner);
        throw StoreError{Reaction::give_up, "sqlite store: cannot lock " + path_ + ": " +
                                                std::strerror(error) +
                                                "; the file must be on a local disk"};
    }
    narrow_rights(rights);
    tell_name("");
}

/// Of one that an earlier version left; somebody else's stays as it is.
void OwnerLock::narrow_rights(unsigned rights) const {
    struct stat file {};
    if (::fstat(descriptor_, &file) != 0 || (file.st_mode & 0777U & ~rights) == 0) return;
    [[maybe_unused]] const int ignored = ::fchmod(descriptor_, file.st_mode & rights);
}

OwnerLock::~OwnerLock() {
    // The file stays: removing it would let two processes lock two files of one name.
    [[maybe_unused]] const int ignored = ::ftruncate(descriptor_, 0);
    ::close(descriptor_);
}

void OwnerLock::tell_name(const std::string& name) {
    const std::lock_guard lock{mutex_};
    if (!name_.empty() && (name.empty() || name == name_)) return;
    name_ = name;
    const std::string text = std::to_string(::getpid()) + "\n" + name + "\n";
    // For people only: a line that could not be written costs them a name.
    [[maybe_unused]] int ignored = ::ftruncate(descriptor_, 0);
    [[maybe_unused]] const ssize_t written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

}  // namespace waybill::sqlite
