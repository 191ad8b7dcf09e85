#include "net/wakeup.hpp"

#include <poll.h>

#include <catch2/catch.hpp>
#include <thread>

#include "net/clock.hpp"

using namespace xfer;

TEST_CASE("A parked thread sleeps until its time is up, or for the news it asked for") {
  net::Parker parker;
  const TimePoint begin = net::now();
  parker.prepare(1);
  parker.notify(2);  // not what it waits for
  parker.sleep(1, 20ms);
  CHECK(net::now() - begin >= 20ms);

  // News between the announcement and the sleep is not slept through.
  parker.prepare(3);
  parker.notify(2);
  parker.sleep(3, 1h);
  parker.prepare(1);
  parker.unprepare();
  parker.notify(1);
  parker.prepare(1);
  const TimePoint again = net::now();
  parker.sleep(1, 20ms);
  CHECK(net::now() - again >= 20ms);
}

TEST_CASE("No news is lost between two threads that take turns") {
  // Each waits for the other's number without a time-out: a lost wake-up hangs the test.
  constexpr int kTurns = 20'000;
  std::atomic<int> turn{0};
  net::Parker parkers[2];
  const auto play = [&](int me) {
    for (int i = me; i < kTurns; i += 2) {
      while (turn.load(std::memory_order_acquire) != i) {
        parkers[me].prepare(1);
        if (turn.load(std::memory_order_acquire) == i)
          parkers[me].unprepare();
        else
          parkers[me].sleep(1, Duration::max());
      }
      turn.store(i + 1, std::memory_order_release);
      parkers[1 - me].notify(1);
    }
  };
  std::thread other(play, 1);
  play(0);
  other.join();
  CHECK(turn == kTurns);
}

TEST_CASE("An event is raised only for a sleeper, once for each sleep") {
  net::EventWakeup wakeup;
  REQUIRE(wakeup.ok());
  const auto raised = [&] {
    pollfd entry{wakeup.fd(), POLLIN, 0};
    return ::poll(&entry, 1, 0) == 1;
  };
  wakeup.notify();
  CHECK_FALSE(raised());
  wakeup.prepare();
  wakeup.awake();
  wakeup.notify();
  CHECK_FALSE(raised());
  wakeup.prepare();
  wakeup.notify();
  CHECK(raised());
}
