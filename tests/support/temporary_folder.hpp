#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace waybill::test {

/// A folder of its own for one test, gone with everything in it at the end.
class TemporaryFolder {
public:
    TemporaryFolder() {
        const std::string pattern =
            (std::filesystem::temp_directory_path() / "waybill-test-XXXXXX").string();
        std::vector<char> name{pattern.begin(), pattern.end()};
        name.push_back('\0');
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name.data();
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_{};
};

}  // namespace waybill::test
