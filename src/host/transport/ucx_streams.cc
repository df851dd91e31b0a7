// SPDX-License-Identifier: Apache-2.0
// Frames go over UCX's ordered streams. One-sided puts would need the target's processor over
// sockets just as much: UCX emulates them there (docs/decisions/0009).
#include "host/transport/ucx_streams.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/strings.h"
#include "host/reports/rank_name.h"
#include "host/transport/ucx_library.h"
#include "tandem/error.h"

namespace tandem::host {
namespace {

// One buffer on its way and one being filled keep a link busy; what lies in more of them only holds
// up a short frame behind it.
constexpr std::size_t kBufferBytes = 128 * 1024;
constexpr std::size_t kBuffersMax = 2;
// The wake-up descriptor has been seen to miss events (rapidsai/ucxx issue 15).
constexpr std::chrono::milliseconds kNapMax{50};
constexpr std::chrono::milliseconds kCloseMax{20};  // for what is on its way in one stream
constexpr std::chrono::milliseconds kDestroyMax{200};

class UcxStreams final : public Streams {
 public:
  UcxStreams(std::unique_ptr<UcxWorker> worker, const std::vector<std::string>& addresses, int rank,
             std::span<const int> group)
      : worker_(std::move(worker)), kick_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    const ucs_status_t status = ucx().worker_get_efd(worker_->handle(), &event_file_);
    if (status != UCS_OK) throw_ucx_error("no wake-up descriptor", status);
    for (int peer = 0; peer < static_cast<int>(addresses.size()); ++peer) {
      peers_.push_back(std::make_unique<Peer>());
      if (peer == rank) continue;
      try {
        connect(*peers_[peer], name_rank(peer, group), addresses[peer]);
      } catch (...) {
        close_all();  // the destructor does not run
        throw;
      }
    }
  }

  ~UcxStreams() override { close_all(); }

  void close_all() {
    for (std::size_t i = 0; i < peers_.size(); ++i) close(static_cast<int>(i));
    // Closing makes requests that end when the worker is driven on.
    const auto limit = Clock::now() + kDestroyMax;
    while (closing_ > 0 && Clock::now() < limit) ucx().worker_progress(worker_->handle());
    // UCX aborts the process if they are still open when their worker goes: rather a leak.
    if (closing_ > 0) worker_.release();  // NOLINT(bugprone-unused-return-value)
  }

  std::int64_t send(int rank, std::span<const iovec> pieces) override {
    Peer& peer = *peers_[rank];
    if (peer.failed()) return -1;
    Buffer* buffer = free_buffer(peer);
    peer.full = buffer == nullptr;
    if (buffer == nullptr) return 0;
    std::size_t bytes = 0;
    for (const iovec& piece : pieces) {
      const std::size_t part = std::min(piece.iov_len, kBufferBytes - bytes);
      std::memcpy(buffer->data.data() + bytes, piece.iov_base, part);
      bytes += part;
      if (bytes == kBufferBytes) break;
    }
    ucp_request_param_t parameters{};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.cb.send = on_sent;
    parameters.user_data = buffer;
    buffer->busy = true;
    const ucs_status_ptr_t request =
        ucx().stream_send_nbx(peer.endpoint, buffer->data.data(), bytes, &parameters);
    if (request == nullptr) buffer->busy = false;
    if (UCS_PTR_IS_ERR(request)) {
      buffer->busy = false;
      peer.status = UCS_PTR_STATUS(request);
      return -1;
    }
    return static_cast<std::int64_t>(bytes);
  }

  std::int64_t receive(int rank, std::span<const iovec> pieces) override {
    Peer& peer = *peers_[rank];
    std::int64_t bytes = 0;
    for (const iovec& piece : pieces) {
      std::size_t filled = 0;
      while (filled < piece.iov_len && next_chunk(peer)) {
        const std::size_t part = std::min(piece.iov_len - filled, peer.chunk_bytes - peer.used);
        std::memcpy(static_cast<char*>(piece.iov_base) + filled, peer.chunk + peer.used, part);
        filled += part;
        peer.used += part;
        if (peer.used == peer.chunk_bytes) drop_chunk(peer);
      }
      bytes += static_cast<std::int64_t>(filled);
      if (filled < piece.iov_len) break;
    }
    if (bytes > 0) return bytes;
    peer.unread = peer.failed();
    return peer.failed() ? -1 : 0;
  }

  std::string why(int rank) override {
    return cat("its connection ended: ", ucx().status_string(peers_[rank]->status));
  }

  void close(int rank) override {
    Peer& peer = *peers_[rank];
    if (peer.endpoint == nullptr) return;
    drop_chunk(peer);
    // A sound peer still gets what is on its way to it. Closing with a flush would do that too, but
    // a worker cannot be destroyed while such a request is open, and a frozen peer keeps it open.
    const auto limit = Clock::now() + kCloseMax;
    while (!peer.failed() && has_busy_buffer(peer) && Clock::now() < limit) {
      ucx().worker_progress(worker_->handle());
    }
    ucp_request_param_t parameters{};
    parameters.op_attr_mask =
        UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
    parameters.cb.send = on_closed;
    parameters.user_data = this;
    const ucs_status_ptr_t request = ucx().ep_close_nbx(peer.endpoint, &parameters);
    if (UCS_PTR_IS_PTR(request)) ++closing_;
    peer.endpoint = nullptr;
    peer.unread = false;
    peer.full = false;
  }

  void wait(std::chrono::milliseconds limit, std::vector<int>& readable) override {
    const auto end = Clock::now() + std::min(limit, kNapMax);
    while (true) {
      while (ucx().worker_progress(worker_->handle()) != 0) {
      }
      if (find_work(readable)) return;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
      if (left.count() <= 0) return;
      const ucs_status_t armed = ucx().worker_arm(worker_->handle());
      if (armed == UCS_ERR_BUSY) continue;
      std::array<pollfd, 2> polls{{{event_file_, POLLIN, 0}, {kick_.file(), POLLIN, 0}}};
      poll(polls.data(), armed == UCS_OK ? polls.size() : 0, static_cast<int>(left.count()));
      if (polls[1].revents != 0) {
        std::uint64_t kicks = 0;
        [[maybe_unused]] const ssize_t bytes = read(kick_.file(), &kicks, sizeof kicks);
        ucx().worker_progress(worker_->handle());
        find_work(readable);
        return;
      }
    }
  }

  void kick() override {
    const std::uint64_t one = 1;
    [[maybe_unused]] const ssize_t bytes = write(kick_.file(), &one, sizeof one);
  }

 private:
  struct Buffer {
    std::vector<char> data = std::vector<char>(kBufferBytes);
    bool busy = false;
  };
  struct Peer {
    ucp_ep_h endpoint = nullptr;
    ucs_status_t status = UCS_OK;
    std::vector<std::unique_ptr<Buffer>> buffers;
    bool full = false;    // send() had no buffer
    bool unread = false;  // receive() has not come to the end
    char* chunk = nullptr;
    std::size_t chunk_bytes = 0;
    std::size_t used = 0;

    bool failed() const { return status != UCS_OK || endpoint == nullptr; }
  };

  static void on_error(void* peer, ucp_ep_h, ucs_status_t status) {
    static_cast<Peer*>(peer)->status = status;
    static_cast<Peer*>(peer)->unread = true;
  }
  static void on_sent(void* request, ucs_status_t, void* buffer) {
    static_cast<Buffer*>(buffer)->busy = false;
    ucx().request_free(request);
  }
  static void on_closed(void* request, ucs_status_t, void* streams) {
    --static_cast<UcxStreams*>(streams)->closing_;
    ucx().request_free(request);
  }

  void connect(Peer& peer, const std::string& name, const std::string& address) {
    ucp_ep_params_t parameters{};
    parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                            UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_USER_DATA;
    parameters.address = reinterpret_cast<const ucp_address_t*>(address.data());
    parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    parameters.err_handler = {on_error, &peer};
    parameters.user_data = &peer;
    const ucs_status_t status = ucx().ep_create(worker_->handle(), &parameters, &peer.endpoint);
    if (status == UCS_OK) return;
    throw Error(ErrorKind::timeout,
                cat("ucx: no connection to ", name, ": ", ucx().status_string(status),
                    "; it has ended, or there is no way to it: look at ucx_info -d, or use "
                    "--transport tcp"));
  }

  static bool has_busy_buffer(const Peer& peer) {
    return std::ranges::any_of(peer.buffers, [](const auto& buffer) { return buffer->busy; });
  }

  static Buffer* free_buffer(Peer& peer) {
    for (const auto& buffer : peer.buffers) {
      if (!buffer->busy) return buffer.get();
    }
    if (peer.buffers.size() == kBuffersMax) return nullptr;
    return peer.buffers.emplace_back(std::make_unique<Buffer>()).get();
  }

  static bool next_chunk(Peer& peer) {
    if (peer.chunk != nullptr) return true;
    if (peer.endpoint == nullptr) return false;
    const ucs_status_ptr_t data = ucx().stream_recv_data_nb(peer.endpoint, &peer.chunk_bytes);
    if (data == nullptr) return false;
    if (UCS_PTR_IS_ERR(data)) {
      peer.status = UCS_PTR_STATUS(data);
      return false;
    }
    peer.chunk = static_cast<char*>(data);
    peer.used = 0;
    return true;
  }

  static void drop_chunk(Peer& peer) {
    if (peer.chunk != nullptr) ucx().stream_data_release(peer.endpoint, peer.chunk);
    peer.chunk = nullptr;
  }

  // Whether there is something to receive or room to send again.
  bool find_work(std::vector<int>& readable) {
    std::array<ucp_stream_poll_ep_t, 16> polled;
    ssize_t count = 0;
    do {
      count = ucx().stream_worker_poll(worker_->handle(), polled.data(), polled.size(), 0);
      for (ssize_t i = 0; i < count; ++i) {
        // An endpoint that UCX made for a peer of a closed one has no owner here.
        if (polled[i].user_data != nullptr) static_cast<Peer*>(polled[i].user_data)->unread = true;
      }
    } while (count == static_cast<ssize_t>(polled.size()));
    bool room = false;
    for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
      Peer& peer = *peers_[rank];
      if (peer.unread) readable.push_back(static_cast<int>(rank));
      room = room || (peer.full && free_buffer(peer) != nullptr);
    }
    return room || !readable.empty();
  }

  std::unique_ptr<UcxWorker> worker_;
  std::vector<std::unique_ptr<Peer>> peers_;
  int event_file_ = -1;
  Socket kick_;
  int closing_ = 0;
};

}  // namespace

std::unique_ptr<Streams> make_ucx_streams(std::unique_ptr<UcxWorker> worker,
                                          const std::vector<std::string>& addresses, int rank,
                                          std::span<const int> group) {
  return std::make_unique<UcxStreams>(std::move(worker), addresses, rank, group);
}

}  // namespace tandem::host
