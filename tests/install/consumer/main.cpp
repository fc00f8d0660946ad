// A user's program, built against the installed tree and nothing else.

#include <waybill/message.hpp>

int main() {
    const waybill::Message message{};
    const waybill::Message copy = message;
    return &copy == &message ? 1 : 0;
}
