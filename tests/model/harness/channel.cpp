// A channel: each value is received once or still belongs to its sender, in order. After a close or a time
// limit no task is left waiting.
#include <pilfer/detail/sync/channel_protocol.hpp>

#include "waiting.hpp"

namespace {

using namespace model;
using protocol = pilfer::detail::channel_protocol<hasty_atom, park>;
using step = protocol::step;

template <unsigned Capacity>
struct channel_client {
    struct value : protocol::cell {
        plain<unsigned> what = 0;
    };
    protocol channel{Capacity};
    box<value> values[4];
    box<waiters::entry> frames[4];
    // Of the checker itself.
    unsigned sent = 0; // accepted
    unsigned received = 0;
    unsigned latest[4] = {};
    bool in_order = true;

    /// channel::send(): value `what` of sender `i`.
    bool send(unsigned i, unsigned n, unsigned what, bool timed) {
        auto& v = values[n];
        v.make();
        v->what = what;
        auto& e = frames[i];
        e.make();
        const auto o = channel.offer(*v.get(), e.get());
        if (o.next != nullptr) {
            go_on(*o.next);
        }
        step s = o.what;
        if (s == step::wait) {
            wait_in(channel.list(), *e.get(), timed);
            s = protocol::offered(*e.get());
        }
        e.end();
        if (s == step::done) {
            ++sent;
            return true;
        }
        v.end(); // it is the sender's
        return false;
    }
    void try_send(unsigned n, unsigned what) {
        auto& v = values[n];
        v.make();
        v->what = what;
        const auto o = channel.offer(*v.get(), nullptr);
        if (o.next != nullptr) {
            go_on(*o.next);
        }
        if (o.what == step::done) {
            ++sent;
        } else {
            v.end();
        }
    }
    void got(protocol::cell* c) {
        auto* const v = static_cast<value*>(c);
        const unsigned what = v->what;
        const unsigned sender = what / 10;
        check(sender < 4 && (what % 10 > latest[sender] || !in_order), "a value was received out of order");
        latest[sender] = what % 10;
        ++received;
        for (auto& b : values) {
            if (b.get() == v) {
                b.end();
            }
        }
    }
    /// channel::receive(). False: closed, or over.
    bool receive(unsigned i, bool timed) {
        auto& e = frames[i];
        e.make();
        const auto o = channel.take(e.get());
        if (o.next != nullptr) {
            go_on(*o.next);
        }
        protocol::cell* c = o.got;
        if (o.what == step::wait) {
            wait_in(channel.list(), *e.get(), timed);
            c = protocol::taken(*e.get());
        }
        e.end();
        if (c == nullptr) {
            return false;
        }
        got(c);
        return true;
    }
    void close() {
        for (auto* e = channel.close(); e != nullptr;) {
            auto* const next = static_cast<waiters::entry*>(e->next);
            go_on(*e);
            e = next;
        }
    }
    void finish() {
        while (auto* c = channel.take(nullptr).got) {
            got(c);
        }
        check(channel.list().empty(), "somebody waits for ever");
        check(sent == received, "a value was lost");
        for (auto& v : values) {
            check(!v.alive(), "a value was forgotten");
        }
    }
};

/// Two senders, of two values and of one, and a receiver of three.
template <unsigned Capacity>
struct channel_sends : channel_client<Capacity> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            for (unsigned k = 0; k < 3; ++k) {
                check(this->receive(0, false), "a receiver was sent away");
            }
            return;
        }
        check(this->send(i, i, 10 * i + 1, false), "a sender was sent away");
        if (i == 1) {
            check(this->send(i, 3, 12, false), "a sender was sent away");
        }
    }
    void finish() {
        check(this->received == 3, "not everything came");
        channel_client<Capacity>::finish();
    }
};

/// A sender, a receiver and one that closes, in any order.
template <unsigned Capacity>
struct channel_closed : channel_client<Capacity> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            while (this->receive(0, false)) {
            }
        } else if (i == 1) {
            if (this->send(1, 1, 11, false)) {
                (void)this->send(1, 2, 12, false);
            }
        } else {
            this->close();
        }
    }
};

/// A sender and a receiver that may give up at any moment; a third one tries to send, and closes.
template <unsigned Capacity>
struct channel_timed : channel_client<Capacity> {
    static constexpr unsigned threads = 3;
    void thread(unsigned i) {
        if (i == 0) {
            this->receive(0, true);
        } else if (i == 1) {
            this->send(1, 1, 11, true);
        } else {
            this->try_send(2, 21);
            this->close();
        }
    }
};

/// The first receiver puts its value back.
struct channel_put_back : channel_client<1> {
    static constexpr unsigned threads = 3;
    channel_put_back() { in_order = false; } // the other receiver may be between taking and putting back
    void thread(unsigned i) {
        if (i == 2) {
            check(send(2, 2, 21, false), "a sender was sent away");
            check(send(2, 3, 22, false), "a sender was sent away");
        } else if (i == 1) {
            check(receive(1, false), "a receiver was sent away");
        } else {
            const auto o = channel.take(nullptr);
            if (o.next != nullptr) {
                go_on(*o.next);
            }
            if (o.got != nullptr) {
                if (auto* next = channel.put_back(*o.got)) {
                    go_on(*next);
                }
            }
        }
    }
};

const registered<channel_sends<0>> r1("channel_meet", "two senders, one receiver, capacity 0");
const registered<channel_sends<1>> r2("channel_bounded", "two senders, one receiver, capacity 1");
const registered<channel_closed<0>> r3("channel_close_meet",
                                       "closed beside a sender and a receiver, capacity 0");
const registered<channel_closed<1>> r4("channel_close", "closed beside a sender and a receiver, capacity 1");
const registered<channel_timed<0>> r5("channel_timed_meet",
                                      "sender and receiver may give up, one tries and closes, capacity 0");
const registered<channel_timed<1>> r6("channel_timed",
                                      "sender and receiver may give up, one tries and closes, capacity 1");
const registered<channel_put_back> r7("channel_put_back", "a value that could not be received is next again");

} // namespace
