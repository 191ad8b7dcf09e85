// The impairment proxy as a program: prints its port, forwards until standard input ends, prints
// what it saw.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "interop/impair_proxy.hpp"

int main(int argc, char** argv) {
  using namespace xfer;
  using namespace xfer::interop;
  std::uint16_t target = 0;
  double delay_ms = 0;
  double reorder_delay_ms = 1;
  std::optional<std::uint32_t> drop_packet;
  Impairment::ScriptedDrop drop;
  Impairment impairment;
  CLI::App app("UDP proxy that loses, delays, repeats and reorders datagrams");
  app.add_option("target", target, "port to forward to")->required();
  app.add_option("--loss", impairment.loss, "probability");
  app.add_option("--reorder", impairment.reorder, "probability");
  app.add_option("--duplicate", impairment.duplicate, "probability");
  app.add_option("--delay-ms", delay_ms, "one way");
  app.add_option("--reorder-delay-ms", reorder_delay_ms,
                 "how much later a reordered datagram arrives");
  app.add_option("--seed", impairment.seed);
  app.add_option("--drop-packet", drop_packet, "index of a data packet from the client to drop");
  app.add_option("--drop-times", drop.times, "how often it is dropped");
  app.add_option("--drop-count", drop.count, "how many packets from that one on");
  app.add_option("--listen-host", impairment.listen_host,
                 "address of this host for clients, by default 127.0.0.1");
  app.add_option("--target-host", impairment.target_host, "likewise");
  app.add_flag("--log", impairment.log, "one decoded line per datagram on standard error");
  CLI11_PARSE(app, argc, argv);

  const auto duration = [](double ms) {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(ms));
  };
  impairment.delay = duration(delay_ms);
  impairment.reorder_delay = duration(reorder_delay_ms);
  if (drop_packet) {
    drop.packet = *drop_packet;
    impairment.drop = drop;
  }
  ImpairProxy proxy(target, impairment);
  std::printf("port %u\nback port %u\n", static_cast<unsigned>(proxy.port()),
              static_cast<unsigned>(proxy.back_port()));
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
  }
  std::printf("%s\n", to_string(proxy.stop()).c_str());
}
