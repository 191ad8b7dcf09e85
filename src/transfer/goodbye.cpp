#include "transfer/goodbye.hpp"

#include <algorithm>
#include <array>

#include "file/destination.hpp"
#include "file/printable.hpp"

namespace xfer::transfer {

void put_abort(net::Stream& stream, const Error& error, const std::string& detail) {
  if (stream.failed()) return;
  const std::string text = !detail.empty() || (error.what == nullptr && error.sys_errno == 0)
                               ? detail
                               : file::cause(error);
  session::Abort abort;
  abort.code = error.code;
  abort.text = text;
  std::array<std::byte, session::kMaxControlFrame> buffer;
  ByteWriter out(buffer);
  session::encode(out, abort);
  XFER_ASSERT(out.ok());
  const MutByteView space = stream.write_space();
  if (space.size() < out.size()) return;
  std::copy_n(buffer.begin(), out.size(), space.begin());
  stream.publish(out.size(), true);
}

Farewell read_abort(const session::Abort& abort) {
  // An interruption there is no interruption here: to this side, the peer went away.
  if (abort.code == ErrorCode::interrupted)
    return {{ErrorCode::peer_closed, 0, nullptr}, "it was interrupted"};
  std::string detail = file::printable(abort.text);
  detail += detail.empty() ? "reported by the peer" : " (reported by the peer)";
  return {{abort.code, 0, nullptr}, detail};
}

Error not_our_protocol(bool greeted) {
  if (greeted) return {ErrorCode::peer_error, 0, "what it sends is not the transfer protocol"};
  return {ErrorCode::version_mismatch, 0,
          "what it sends is not the transfer protocol (is --raw given on one side only?)"};
}

}  // namespace xfer::transfer
