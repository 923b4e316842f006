// A coroutine of asio runs on a pool: it waits for a timer of an io_context, and a loop of pilfer does its
// sums. The lines are written by a strand, one after the other.
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/io_context.hpp>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/use_awaitable.hpp>
#include <pilfer/adapters/asio.hpp>
#include <pilfer/pilfer.hpp>

namespace {

using pilfer::adapters::asio_context;
using pilfer::adapters::asio_executor;

asio::awaitable<void> sums(asio::io_context& io, asio::strand<asio_executor> lines) {
    for (int n = 10; n <= 1000; n *= 10) {
        asio::steady_timer timer(io, std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable); // resumes on the pool
        const int sum = pilfer::reduce(
            1, n + 1, 0, [](int i) { return i; }, std::plus<>{});
        asio::post(lines, [n, sum] { std::printf("1 + ... + %d = %d\n", n, sum); });
    }
}

} // namespace

int main() {
    pilfer::pool pool;
    asio::io_context io;
    auto guard = asio::make_work_guard(io);
    std::thread timers([&] { io.run(); });
    {
        asio_context context(pool);
        asio::co_spawn(context, sums(io, asio::make_strand(context.get_executor())), asio::detached);
    } // waits for the coroutine and for the lines
    guard.reset();
    timers.join();
}
