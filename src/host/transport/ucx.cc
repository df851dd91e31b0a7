// SPDX-License-Identifier: Apache-2.0
#include "host/transport/ucx.h"

#include "host/transport/link_transport.h"
#include "host/transport/ucx_streams.h"

namespace tandem::host {
namespace {

class UcxTransport final : public LinkTransport {
 public:
  using LinkTransport::LinkTransport;
  std::string_view name() const override { return "ucx"; }

 private:
  // Where UCX has no memory for what it receives, it aborts the process.
  std::int64_t spare_bytes() const override { return 64 << 20; }
  // Also where it has too few descriptors: 24 beside its connections were enough.
  std::int64_t descriptors(int ranks) const override { return ranks + 24; }

  std::string make_contact(const JoinOptions& options, const Socket&) override {
    worker_ = std::make_unique<UcxWorker>(options.root);
    return worker_->address();
  }

  std::unique_ptr<Streams> make_streams(const JoinOptions& options, Rendezvous met) override {
    std::vector<std::string> addresses;
    for (const Member& member : met.members) addresses.push_back(member.contact);
    return make_ucx_streams(std::move(worker_), addresses, options.rank, options.group);
  }

  std::unique_ptr<UcxWorker> worker_;
};

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(int ranks, const TransportOptions& options) {
  return std::make_unique<UcxTransport>(ranks, options);
}

}  // namespace tandem::host
