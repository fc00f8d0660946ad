#include "sqlite/faulty_disk.hpp"

#include <new>
#include <stdexcept>

namespace waybill::test {
namespace {

/// A file of the real file system with a gate in front of what changes it. The real file lies behind
/// it in the memory SQLite gives us.
struct GatedFile {
    sqlite3_file base;
    sqlite3_file* real;
};

FaultyDisk* the_disk = nullptr;
sqlite3_vfs* real_vfs = nullptr;

sqlite3_file* real(sqlite3_file* file) {
    return reinterpret_cast<GatedFile*>(file)->real;
}

int close(sqlite3_file* file) {
    return real(file)->pMethods->xClose(real(file));
}
int read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 at) {
    return real(file)->pMethods->xRead(real(file), to, bytes, at);
}
int write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 at) {
    const int code = the_disk->verdict(FaultyDisk::Call::write);
    return code != SQLITE_OK ? code : real(file)->pMethods->xWrite(real(file), from, bytes, at);
}
int truncate(sqlite3_file* file, sqlite3_int64 bytes) {
    const int code = the_disk->verdict(FaultyDisk::Call::write);
    return code != SQLITE_OK ? code : real(file)->pMethods->xTruncate(real(file), bytes);
}
int sync(sqlite3_file* file, int flags) {
    const int code = the_disk->verdict(FaultyDisk::Call::sync);
    return code != SQLITE_OK ? code : real(file)->pMethods->xSync(real(file), flags);
}
int file_size(sqlite3_file* file, sqlite3_int64* bytes) {
    return real(file)->pMethods->xFileSize(real(file), bytes);
}
int lock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xLock(real(file), level);
}
int unlock(sqlite3_file* file, int level) {
    return real(file)->pMethods->xUnlock(real(file), level);
}
int check_reserved_lock(sqlite3_file* file, int* out) {
    return real(file)->pMethods->xCheckReservedLock(real(file), out);
}
int file_control(sqlite3_file* file, int operation, void* argument) {
    return real(file)->pMethods->xFileControl(real(file), operation, argument);
}
int sector_size(sqlite3_file* file) {
    return real(file)->pMethods->xSectorSize(real(file));
}
int device_characteristics(sqlite3_file* file) {
    return real(file)->pMethods->xDeviceCharacteristics(real(file));
}
int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return real(file)->pMethods->xShmMap(real(file), page, size, extend, out);
}
int shm_lock(sqlite3_file* file, int offset, int count, int flags) {
    return real(file)->pMethods->xShmLock(real(file), offset, count, flags);
}
void shm_barrier(sqlite3_file* file) {
    real(file)->pMethods->xShmBarrier(real(file));
}
int shm_unmap(sqlite3_file* file, int remove) {
    return real(file)->pMethods->xShmUnmap(real(file), remove);
}

const sqlite3_io_methods methods{
    .iVersion = 2,
    .xClose = close,
    .xRead = read,
    .xWrite = write,
    .xTruncate = truncate,
    .xSync = sync,
    .xFileSize = file_size,
    .xLock = lock,
    .xUnlock = unlock,
    .xCheckReservedLock = check_reserved_lock,
    .xFileControl = file_control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = device_characteristics,
    .xShmMap = shm_map,
    .xShmLock = shm_lock,
    .xShmBarrier = shm_barrier,
    .xShmUnmap = shm_unmap,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* gated = reinterpret_cast<GatedFile*>(file);
    gated->real = reinterpret_cast<sqlite3_file*>(gated + 1);
    gated->base.pMethods = nullptr;
    const int code = real_vfs->xOpen(real_vfs, name, gated->real, flags, out_flags);
    if (gated->real->pMethods != nullptr) gated->base.pMethods = &methods;
    return code;
}

/// A copy of the real one but for its files.
sqlite3_vfs gated_vfs{};

}  // namespace

FaultyDisk::FaultyDisk() {
    if (the_disk != nullptr) throw std::logic_error("one faulty disk at a time");
    the_disk = this;
    real_vfs = sqlite3_vfs_find(nullptr);
    gated_vfs = *real_vfs;
    gated_vfs.pNext = nullptr;
    gated_vfs.zName = "waybill-faulty-disk";
    gated_vfs.szOsFile = static_cast<int>(sizeof(GatedFile)) + real_vfs->szOsFile;
    gated_vfs.xOpen = open;
    sqlite3_vfs_register(&gated_vfs, 1);
}

FaultyDisk::~FaultyDisk() {
    sqlite3_vfs_unregister(&gated_vfs);
    sqlite3_vfs_register(real_vfs, 1);
    the_disk = nullptr;
}

void FaultyDisk::fail(Call call, int code, int passing) {
    call_ = call;
    passing_ = passing;
    failures_ = 0;
    once_ = false;
    code_ = code;
}

void FaultyDisk::fail_once(Call call, int code, int passing) {
    fail(call, SQLITE_OK, passing);
    once_ = true;
    code_ = code;
}

void FaultyDisk::repair() {
    code_ = SQLITE_OK;
}

int FaultyDisk::verdict(Call call) {
    const int code = code_;
    const Call wanted = call_;
    if (code == SQLITE_OK || (wanted != Call::any && wanted != call)) return SQLITE_OK;
    if (passing_.fetch_sub(1) > 0) return SQLITE_OK;
    ++failures_;
    if (once_) code_ = SQLITE_OK;
    return code;
}

}  // namespace waybill::test
