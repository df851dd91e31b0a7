// SPDX-License-Identifier: Apache-2.0
// Transfers to peers whose memory is not mapped.
#include "base/check.h"
#include "base/strings.h"
#include "host/host_channel.h"
#include "host/launch_site.h"
#include "host/link/link.h"

namespace tandem::host {
namespace {

// What a core has posted to each peer and not yet asked to be told of.
struct Unflushed {
  struct State {
    bool posted = false;
    std::uint64_t flush = 0;  // the last one
  };
  std::vector<State> peers;
};

class LinkChannel final : public Channel {
 public:
  LinkChannel(LaunchSite& site, CoreState& core, int peer, std::shared_ptr<Unflushed> unflushed)
      : site_(site),
        core_(core),
        link_(*site.rank().link()),
        peer_(peer),
        unflushed_(std::move(unflushed)) {}

  void write_nbi(View destination, View source, Site) override {
    TANDEM_CHECK(destination.rank == peer_, "a write goes to the channel's peer");
    check_shapes(destination, source);
    link_.write(peer_, site_.locate(destination), site_.resolve(source), source.pitch);
    own().posted = true;
  }

  void read_nbi(View destination, View source, Site) override {
    TANDEM_CHECK(source.rank == peer_, "a read comes from the channel's peer");
    check_shapes(destination, source);
    link_.read(peer_, site_.locate(source), site_.resolve(destination), destination.pitch);
    own().posted = true;
  }

  void write_notify_nbi(View destination, View source, EpochSlot slot, std::uint64_t value,
                        Site site) override {
    write_nbi(destination, source, site);
    link_.store_word(peer_, slot, site_.epoch_base() + value);
  }

  void write_reduce_nbi(View destination, View source, Site) override {
    check_shapes(destination, source);
    const auto buffer = static_cast<std::size_t>(destination.buffer);
    link_.reduce(peer_, site_.locate(destination), site_.launch().extents[buffer].type,
                 site_.resolve(source), source.pitch);
    own().posted = true;
  }

  void write_value_nbi(View destination, std::uint32_t value, Site) override {
    link_.fill(peer_, site_.locate(destination), value);
    own().posted = true;
  }

  std::uint64_t fetch_add(View word, std::uint64_t value, Site site) override {
    FetchReply reply;
    link_.fetch_add(peer_, site_.locate(word).offset, value, reply);
    try {
      wait_for(reply.done, 1, site);
    } catch (...) {
      link_.drop_memory();  // the reply must not come to a stack that is gone
      throw;
    }
    return reply.value;
  }

  void drain(Site site) override {
    // All peers are asked at once: their answers come while this core waits for the first.
    for (int peer = 0; peer < static_cast<int>(unflushed_->peers.size()); ++peer) {
      Unflushed::State& state = unflushed_->peers[peer];
      if (state.posted) state.flush = link_.flush(peer);
      state.posted = false;
    }
    wait_for(link_.flushed(peer_), own().flush, site);
  }

 private:
  Unflushed::State& own() { return unflushed_->peers[peer_]; }

  void wait_for(const std::atomic<std::uint64_t>& word, std::uint64_t want, Site site) {
    Wait transfer;
    transfer.kind = Wait::Kind::transfer;
    transfer.word = &word;
    transfer.want = want;
    transfer.id = peer_;
    transfer.site = site;
    if (!transfer.ready()) core_.suspend_until(transfer);
  }

  static void check_shapes(const View& destination, const View& source) {
    TANDEM_CHECK(destination.rows == source.rows && destination.row_bytes == source.row_bytes,
                 cat("transfer from ", to_string(source), " to ", to_string(destination)));
  }

  LaunchSite& site_;
  CoreState& core_;
  Link& link_;
  int peer_;
  std::shared_ptr<Unflushed> unflushed_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> make_link_channels(LaunchSite& site, CoreState& core) {
  const auto unflushed = std::make_shared<Unflushed>();
  unflushed->peers.resize(site.rank().ranks());
  std::vector<std::unique_ptr<Channel>> channels(site.rank().ranks());
  for (int peer = 0; peer < site.rank().ranks(); ++peer) {
    if (site.rank().area_of(peer) != nullptr) continue;
    channels[peer] = std::make_unique<LinkChannel>(site, core, peer, unflushed);
  }
  return channels;
}

}  // namespace tandem::host
