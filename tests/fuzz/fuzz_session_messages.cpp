#include "base/check.hpp"
#include "fuzz_input.hpp"
#include "session/frame_reader.hpp"
#include "session/receiver.hpp"
#include "session/sender.hpp"

namespace {

using namespace xfer;

/// A receiver that acts on what its state machine lets through, and checks what it relies on.
class Receiver {
 public:
  /// False: the sender broke the protocol.
  bool take(const session::Message& message) {
    if (!session_.handle(message)) return false;
    if (const auto* entry = std::get_if<session::Entry>(&message)) {
      XFER_ASSERT(entry->id == ++announced_);
      XFER_ASSERT(!file_);
      if (entry->kind == session::EntryKind::file) {
        file_ = entry->id;
        received_ = 0;
      } else {
        ++depth_;
        XFER_ASSERT(depth_ <= session::kMaxDepth);
      }
    }
    if (const auto* data = std::get_if<session::Data>(&message)) {
      XFER_ASSERT(file_ == data->id && data->offset == received_);
      received_ += data->bytes.size();
    }
    if (const auto* end = std::get_if<session::End>(&message)) {
      if (file_) {
        XFER_ASSERT(file_ == end->id);
        XFER_ASSERT(end->status != session::EndStatus::ok || end->size == received_);
        file_.reset();
      } else {
        XFER_ASSERT(depth_ > 0);
        --depth_;
      }
      session_.judged(end->status == session::EndStatus::ok
                          ? session::Code{}
                          : session::Code(ErrorCode::source_error),
                      end->size);
    }
    if (std::holds_alternative<session::Done>(message)) {
      XFER_ASSERT(!file_ && depth_ == 0 && session_.all_judged());
      const auto final = session_.final();
      XFER_ASSERT(final.ok + final.failed == announced_);
    }
    return true;
  }

 private:
  session::ReceivingSession session_;
  std::uint32_t announced_ = 0;
  std::optional<std::uint32_t> file_;
  std::uint64_t received_ = 0;
  std::size_t depth_ = 0;
};

/// A sender that has announced a few entries, of which some have ended, and checks verdicts.
class Sender {
 public:
  Sender() {
    for (std::uint32_t id = 1; id <= 4; ++id) {
      XFER_ASSERT(*session_.begin(session::EntryKind::file, "f") == id);
      session::End end;
      end.id = id;
      end.status = id == 4 ? session::EndStatus::changed : session::EndStatus::ok;
      if (id != 3) session_.ended(end);
    }
  }

  bool take(const session::Message& message) {
    const bool complete = session_.complete();
    if (!session_.handle(message)) return false;
    XFER_ASSERT(!complete);
    if (const auto* verdict = std::get_if<session::Verdict>(&message)) {
      XFER_ASSERT(verdict->id >= 1 && verdict->id <= 4 && !session_.refused(verdict->id));
      XFER_ASSERT(verdict->code || verdict->id < 3);
      session_.resolve(*verdict);
      XFER_ASSERT(session_.refused(verdict->id));
      if (session_.pending() == 0 && !finished_) {
        finished_ = true;
        session_.finish(0);
      }
    }
    if (session_.complete()) XFER_ASSERT(finished_ && session_.pending() == 0);
    return true;
  }

 private:
  session::SendingSession session_;
  bool finished_ = false;
};

template <typename Side>
void run(Side& side, ByteView stream) {
  session::FrameReader reader;
  while (true) {
    const auto message = reader.next(stream);
    if (!message || !*message || !side.take(**message)) return;
  }
}

}  // namespace

// Any byte stream as what a sender or a receiver (the first bit decides) is told: the state
// machines let nothing through that the acting side could not handle. A hello comes first, so that
// the fuzzer gets somewhere.
XFER_FUZZ_TARGET(xfer::ByteView input) {
  if (input.empty()) return;
  const bool receiving = (std::to_integer<unsigned>(input[0]) & 1U) != 0;
  input = input.subspan(1);
  session::Hello hello;
  hello.role = receiving ? session::Role::sender : session::Role::receiver;
  if (receiving) {
    Receiver receiver;
    XFER_ASSERT(receiver.take(hello));
    run(receiver, input);
  } else {
    Sender sender;
    XFER_ASSERT(sender.take(hello));
    run(sender, input);
  }
}
