#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/server_process.hpp"
#include "support/temporary_folder.hpp"

namespace waybill::test {

/// The program in a folder of its own.
class Program : public testing::Test {
protected:
    Ran run_here(std::vector<std::string> words) {
        return run(folder_.path().string(), std::move(words));
    }
    /// With what it says on standard error.
    Ran hear(std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
        return run_and_hear_errors(folder_.path().string(), std::move(words), environment);
    }
    /// Until its output has this.
    bool eventually(const std::vector<std::string>& words, const std::string& wanted) {
        for (int i = 0; i < 300; ++i) {
            if (run_here(words).output.find(wanted) != std::string::npos) return true;
        }
        return false;
    }
    void write(const std::string& name, const std::string& text) {
        std::ofstream{folder_.file(name)} << text;
    }

    TemporaryFolder folder_;
};

}  // namespace waybill::test
