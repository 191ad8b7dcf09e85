#include "session/frame_reader.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace xfer::session {
namespace {

using Bytes = std::vector<std::byte>;

template <typename Message>
void append(Bytes& stream, const Message& message) {
  Bytes frame(kMaxControlFrame);
  ByteWriter out(frame);
  encode(out, message);
  stream.insert(stream.end(), frame.begin(),
                frame.begin() + static_cast<std::ptrdiff_t>(out.size()));
}

void append_data(Bytes& stream, std::uint32_t id, std::uint64_t offset,
                 const std::string& content) {
  Bytes head(kDataHeaderSize);
  ByteWriter out(head);
  encode_data_header(out, id, offset, content.size());
  stream.insert(stream.end(), head.begin(), head.end());
  for (const char c : content) stream.push_back(static_cast<std::byte>(c));
}

Bytes sample_stream() {
  Bytes stream;
  append(stream, Hello{});
  Entry entry;
  entry.id = 1;
  entry.path = "name";
  append(stream, entry);
  append_data(stream, 1, 0, "hello ");
  append_data(stream, 1, 6, "world");
  End end;
  end.id = 1;
  end.size = 11;
  append(stream, end);
  append(stream, Done{1, 0, 11});
  return stream;
}

/// What came out, in words, with the content joined.
struct Heard {
  std::string log;
  std::string content;

  void take(const Message& message) {
    if (const auto* data = std::get_if<Data>(&message)) {
      CHECK(data->offset == content.size());
      CHECK_FALSE(data->bytes.empty());
      content += as_text(data->bytes);
      return;
    }
    log += std::holds_alternative<Hello>(message)  ? 'h'
           : std::holds_alternative<End>(message)  ? 'e'
           : std::holds_alternative<Done>(message) ? 'd'
                                                   : '?';
    if (const auto* entry = std::get_if<Entry>(&message))
      log.back() = static_cast<char>(entry->path[0]);
  }
};

void feed(FrameReader& reader, ByteView input, Heard& heard) {
  while (true) {
    const auto message = reader.next(input);
    REQUIRE(message.has_value());
    if (!*message) break;
    heard.take(**message);
  }
  CHECK(input.empty());
}

TEST_CASE("a stream reads the same wherever it is cut") {
  // Pins reassembly: cut at every byte, and byte by byte.
  const Bytes stream = sample_stream();
  for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
    CAPTURE(cut);
    FrameReader reader;
    Heard heard;
    feed(reader, ByteView(stream).first(cut), heard);
    feed(reader, ByteView(stream).subspan(cut), heard);
    CHECK(heard.log == "hned");
    CHECK(heard.content == "hello world");
    CHECK(reader.at_boundary());
  }
  FrameReader reader;
  Heard heard;
  for (const std::byte& b : stream) feed(reader, ByteView(&b, 1), heard);
  CHECK(heard.log == "hned");
  CHECK(heard.content == "hello world");
}

TEST_CASE("content comes out as views into the input") {
  // Pins that data is not copied, even when its frame spans two pieces.
  Bytes stream;
  append_data(stream, 3, 100, "abcdef");
  FrameReader reader;
  ByteView first = ByteView(stream).first(kDataHeaderSize + 2);
  auto message = reader.next(first);
  REQUIRE(message.has_value());
  REQUIRE(*message);
  auto data = std::get<Data>(**message);
  CHECK(data.id == 3);
  CHECK(data.offset == 100);
  CHECK(data.bytes.data() == stream.data() + kDataHeaderSize);
  CHECK(data.bytes.size() == 2);
  CHECK_FALSE(reader.at_boundary());
  ByteView second = ByteView(stream).subspan(kDataHeaderSize + 2);
  message = reader.next(second);
  REQUIRE(*message);
  data = std::get<Data>(**message);
  CHECK(data.offset == 102);
  CHECK(data.bytes.data() == stream.data() + kDataHeaderSize + 2);
  CHECK(data.bytes.size() == 4);
  CHECK(reader.at_boundary());
}

TEST_CASE("a bad frame ends the stream for good") {
  // Pins that a reader that lost its place never finds another message.
  FrameReader reader;
  Bytes stream;
  append(stream, Hello{});
  stream[3] = std::byte{99};
  append(stream, Alive{});
  Bytes bad(4, std::byte{0xFF});
  ByteView input = bad;
  CHECK_FALSE(reader.next(input).has_value());
  Bytes good;
  append(good, Alive{});
  input = good;
  CHECK_FALSE(reader.next(input).has_value());
}

TEST_CASE("content cannot wrap its offset") {
  // Pins the check on the sum of two forged numbers.
  Bytes head(kDataHeaderSize);
  ByteWriter out(head);
  encode_data_header(out, 1, ~std::uint64_t{0} - 1, 100);
  FrameReader reader;
  ByteView input = head;
  const auto message = reader.next(input);
  REQUIRE_FALSE(message.has_value());
  CHECK(message.error().code == ErrorCode::malformed);
}

}  // namespace
}  // namespace xfer::session
