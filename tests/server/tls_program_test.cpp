#include <gmock/gmock.h>

#include "program_fixture.hpp"
#include "support/certificate.hpp"
#include "support/tls_client.hpp"

/// The program with TLS, whose certificate nobody else trusts.
namespace waybill::test {
namespace {

using testing::HasSubstr;

class TlsProgram : public Program {
protected:
    void SetUp() override {
        write("waybill.toml",
              "[server]\ntls = { cert = 'c.pem', key = 'k.pem' }\n"
              "[sources.one]\nprovider = 'none'\n[[targets]]\nkey = 'log'\nlog = true\n");
        certify(1);
    }
    void certify(long serial, long seconds_valid = 3600) {
        write_certificate({folder_.file("c.pem"), folder_.file("k.pem")},
                          {.serial = serial, .seconds_valid = seconds_valid});
    }
};

TEST_F(TlsProgram, CommandsReachAServerWhoseCertificateNobodyTrusts) {
    Process server{folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}};
    ASSERT_TRUE(server.hear_until("listens on https://127.0.0.1:"));

    EXPECT_THAT(hear({"send", "one", "--id", "a"}).output, HasSubstr("202 "));
    EXPECT_THAT(hear({"messages", "list"}).output, HasSubstr("test.event"));
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(TlsProgram, AReloadTakesTheNewCertificateAndABadOneLeavesTheOld) {
    Process server{
        folder_.path().string(), {"serve", "--listen", "127.0.0.1:0"}, Process::Errors::to_output};
    const std::uint16_t port = server.port();
    const auto serial = [&] { return TlsClient{port}.serial(); };
    ASSERT_EQ(serial(), 1);

    certify(2);
    server.signal(SIGHUP);
    ASSERT_TRUE(server.hear_until("reloaded"));
    EXPECT_EQ(serial(), 2);
    EXPECT_EQ(hear({"stats"}).code, 0) << "and commands know the new key";

    write("k.pem", "half a ke");
    server.signal(SIGHUP);
    EXPECT_TRUE(server.hear_until("waybill.toml:2: server.tls.key: cannot use k.pem: "));
    EXPECT_TRUE(server.hear_until("not reloaded"));
    EXPECT_EQ(serial(), 2);
    EXPECT_EQ(hear({"stats"}).code, 0);
    EXPECT_EQ(server.end(SIGTERM), 0);
}

TEST_F(TlsProgram, CheckWarnsOfACertificateThatHasExpired) {
    certify(1, -60);

    const Ran checked = hear({"check"});

    EXPECT_EQ(checked.code, 0) << "it starts, and who believes it is the senders' affair";
    EXPECT_THAT(checked.output,
                HasSubstr("warning: waybill.toml:2: server.tls.cert: the certificate has expired"));
}

}  // namespace
}  // namespace waybill::test
