#include "crash/trap_vfs.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace waybill::crash {
namespace {

constexpr sqlite3_int64 kSector = 512;

/// A file as the process sees it; what is on the disk is what was synced last.
struct Unsynced {
    std::string path{};
    std::string content{};
    std::set<sqlite3_int64> dirty{};
};

/// The one trap of this process.
struct World {
    Trap trap{};
    sqlite3_vfs* real = nullptr;
    std::atomic<std::uint64_t> calls{0};
    std::mutex mutex{};  ///< guards files and what is in them
    std::map<std::string, std::unique_ptr<Unsynced>> files{};
};

World& world() {
    static World the_world;
    return the_world;
}

struct TrapFile {
    sqlite3_file base{};
    /// Null unless power is to fail.
    Unsynced* unsynced = nullptr;
    sqlite3_file* real() { return std::launder(reinterpret_cast<sqlite3_file*>(this + 1)); }
};

TrapFile& ours(sqlite3_file* file) {
    return *reinterpret_cast<TrapFile*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
    return ours(file).real();
}

/// At once: not even a sanitizer may look at what is left.
[[noreturn]] void vanish() {
    ::syscall(SYS_exit_group, trapped);
    std::abort();
}

std::uint64_t mixed(std::uint64_t number) {
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9ULL;
    number = (number ^ number >> 27) * 0x94D049BB133111EBULL;
    return number ^ number >> 31;
}

void write_sector(int file, const Unsynced& state, sqlite3_int64 sector) {
    const sqlite3_int64 from = sector * kSector;
    const auto size = static_cast<sqlite3_int64>(state.content.size());
    if (from >= size) return;
    const auto length = static_cast<std::size_t>(std::min(kSector, size - from));
    if (::pwrite(file, state.content.data() + from, length, from) < 0) std::abort();
}

/// Brings a file to the disk: all of it, or only the sectors that `survives` lets through.
template <class Survives>
void write_back(Unsynced& state, Survives survives) {
    const int file = ::open(state.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return;
    for (const sqlite3_int64 sector : state.dirty) {
        if (survives(sector)) write_sector(file, state, sector);
    }
    ::close(file);
}

void sync(Unsynced& state) {
    write_back(state, [](sqlite3_int64) { return true; });
    if (::truncate(state.path.c_str(), static_cast<off_t>(state.content.size())) != 0) std::abort();
    state.dirty.clear();
}

/// The lights go out. One in three times nothing unsynced survives, else about half of the sectors.
[[noreturn]] void power_off() {
    World& here = world();
    const std::lock_guard lock{here.mutex};
    std::uint64_t draw = mixed(here.trap.seed);
    const bool nothing = draw % 3 == 0;
    for (auto& [path, state] : here.files) {
        if (nothing) continue;
        write_back(*state, [&](sqlite3_int64) {
            draw = mixed(draw + 0x9E3779B97F4A7C15ULL);
            return draw % 2 == 0;
        });
    }
    vanish();
}

/// True: this is the call.
bool closes() {
    World& here = world();
    return ++here.calls == here.trap.at;
}

/// The trap around one call; `half` is what a torn one has done.
template <class Call, class Half>
int guarded(Call call, Half half) {
    if (!closes()) return call();
    switch (world().trap.kind) {
        case Trap::Kind::none: return call();
        case Trap::Kind::torn: half(); break;
        case Trap::Kind::after: call(); break;
        case Trap::Kind::power: power_off();
        case Trap::Kind::before: break;
    }
    vanish();
}

int file_close(sqlite3_file* file) {
    const int answer = real(file)->pMethods->xClose(real(file));
    ours(file).~TrapFile();
    return answer;
}

int file_read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset) {
    const Unsynced* state = ours(file).unsynced;
    if (state == nullptr) return real(file)->pMethods->xRead(real(file), to, amount, offset);
    const std::lock_guard lock{world().mutex};
    const auto size = static_cast<sqlite3_int64>(state->content.size());
    const auto wanted = static_cast<std::size_t>(amount);
    const auto there =
        static_cast<std::size_t>(std::clamp<sqlite3_int64>(size - offset, 0, amount));
    std::memcpy(to, state->content.data() + std::min(offset, size), there);
    if (there == wanted) return SQLITE_OK;
    std::memset(static_cast<char*>(to) + there, 0, wanted - there);
    return SQLITE_IOERR_SHORT_READ;
}

int write_to(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    Unsynced* state = ours(file).unsynced;
    if (state == nullptr) return real(file)->pMethods->xWrite(real(file), from, amount, offset);
    const std::lock_guard lock{world().mutex};
    const auto end = static_cast<std::size_t>(offset + amount);
    if (state->content.size() < end) state->content.resize(end);
    std::memcpy(state->content.data() + offset, from, static_cast<std::size_t>(amount));
    for (auto sector = offset / kSector; sector * kSector < offset + amount; ++sector) {
        state->dirty.insert(sector);
    }
    return SQLITE_OK;
}

int file_write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    return guarded([&] { return write_to(file, from, amount, offset); },
                   [&] { return write_to(file, from, amount / 2, offset); });
}

int file_truncate(sqlite3_file* file, sqlite3_int64 size) {
    const auto nothing = [] { return SQLITE_OK; };
    return guarded(
        [&] {
            Unsynced* state = ours(file).unsynced;
            if (state == nullptr) return real(file)->pMethods->xTruncate(real(file), size);
            const std::lock_guard lock{world().mutex};
            const auto before = static_cast<sqlite3_int64>(state->content.size());
            state->content.resize(static_cast<std::size_t>(size));
            // Should it grow again, these are zeros, whatever the disk has.
            for (auto sector = size / kSector; sector * kSector < before; ++sector) {
                state->dirty.insert(sector);
            }
            return SQLITE_OK;
        },
        nothing);
}

int file_sync(sqlite3_file* file, int flags) {
    const auto nothing = [] { return SQLITE_OK; };
    return guarded(
        [&] {
            Unsynced* state = ours(file).unsynced;
            if (state == nullptr) return real(file)->pMethods->xSync(real(file), flags);
            const std::lock_guard lock{world().mutex};
            sync(*state);
            return SQLITE_OK;
        },
        nothing);
}

int file_size(sqlite3_file* file, sqlite3_int64* size) {
    const Unsynced* state = ours(file).unsynced;
    if (state == nullptr) return real(file)->pMethods->xFileSize(real(file), size);
    const std::lock_guard lock{world().mutex};
    *size = static_cast<sqlite3_int64>(state->content.size());
    return SQLITE_OK;
}

int file_control(sqlite3_file* file, int what, void* argument) {
    // These would touch the real file behind our back.
    const bool sizes = what == SQLITE_FCNTL_SIZE_HINT || what == SQLITE_FCNTL_CHUNK_SIZE ||
                       what == SQLITE_FCNTL_MMAP_SIZE;
    if (sizes && ours(file).unsynced != nullptr) return SQLITE_NOTFOUND;
    return real(file)->pMethods->xFileControl(real(file), what, argument);
}

// The rest is passed on.
int file_lock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
int file_unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
int file_reserved(sqlite3_file* file, int* answer) {
    return real(file)->pMethods->xCheckReservedLock(real(file), answer);
}
int file_sector_size(sqlite3_file* file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
int file_device(sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int file_shm_map(sqlite3_file* file, int region, int size, int extend, void volatile** at) {
    return real(file)->pMethods->xShmMap(real(file), region, size, extend, at);
}
int file_shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void file_shm_barrier(sqlite3_file* file) {
    real(file)->pMethods->xShmBarrier(real(file));
}
int file_shm_unmap(sqlite3_file* file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods kMethods{
    .iVersion = 2,  // without memory mapping: every write is seen
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_reserved,
    .xFileControl = file_control,
    .xSectorSize = file_sector_size,
    .xDeviceCharacteristics = file_device,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

/// The one state of a path, whoever opens it and how often. It begins with what is on the disk.
Unsynced* unsynced_of(const char* path, sqlite3_file* file) {
    World& here = world();
    const std::lock_guard lock{here.mutex};
    auto& state = here.files[path];
    if (state) return state.get();
    state = std::make_unique<Unsynced>();
    state->path = path;
    sqlite3_int64 size = 0;
    file->pMethods->xFileSize(file, &size);
    state->content.resize(static_cast<std::size_t>(size));
    if (size > 0) file->pMethods->xRead(file, state->content.data(), static_cast<int>(size), 0);
    return state.get();
}

int open_file(sqlite3_vfs*, const char* path, sqlite3_file* file, int flags, int* out) {
    auto* opened = new (file) TrapFile{};
    const int answer = world().real->xOpen(world().real, path, opened->real(), flags, out);
    if (answer != SQLITE_OK) return answer;
    if (world().trap.kind == Trap::Kind::power && path != nullptr) {
        opened->unsynced = unsynced_of(path, opened->real());
    }
    opened->base.pMethods = &kMethods;
    return SQLITE_OK;
}

int delete_file(sqlite3_vfs*, const char* path, int sync_folder) {
    const auto nothing = [] { return SQLITE_OK; };
    return guarded(
        [&] {
            World& here = world();
            const std::lock_guard lock{here.mutex};
            if (const auto found = here.files.find(path); found != here.files.end()) {
                found->second->content.clear();
                found->second->dirty.clear();
            }
            return here.real->xDelete(here.real, path, sync_folder);
        },
        nothing);
}

}  // namespace

void set_trap(const Trap& trap) {
    World& here = world();
    here.trap = trap;
    here.real = sqlite3_vfs_find(nullptr);
    static sqlite3_vfs vfs = *here.real;
    vfs.zName = "trap";
    vfs.szOsFile = static_cast<int>(sizeof(TrapFile)) + here.real->szOsFile;
    vfs.xOpen = open_file;
    vfs.xDelete = delete_file;
    if (sqlite3_vfs_register(&vfs, 1) != SQLITE_OK) std::abort();
}

std::uint64_t calls_seen() {
    return world().calls;
}

void write_all_back() {
    World& here = world();
    const std::lock_guard lock{here.mutex};
    for (auto& [path, state] : here.files) {
        if (!state->dirty.empty()) sync(*state);
    }
}

}  // namespace waybill::crash
