// SPDX-License-Identifier: Apache-2.0
// How a rank reaches peers whose memory it cannot map. Its own words (bell, barrier words, states)
// are in local memory; one thread per rank owns the streams, applies what comes and rings the
// local bell. Operations are posted and never block; who needs their end waits for a local word.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "host/control_area.h"
#include "host/link/frame.h"
#include "host/link/inbox.h"
#include "host/link/outbox.h"
#include "host/link/streams.h"
#include "host/net/rendezvous.h"
#include "tandem/types.h"

namespace tandem::host {

// The rank's own window memory, as its peers name it.
class WindowMemory {
 public:
  virtual ~WindowMemory() = default;
  // The address of rows that lie in one reserved range, or null.
  virtual std::byte* find(const RemoteRows& rows) = 0;
};

struct LinkOptions {
  int rank = 0;
  std::vector<Member> members;  // [rank]
  std::vector<int> group;       // as Transport::group()
  // A peer that says nothing for so long is lost: stopped, or its host or the network is down.
  std::chrono::milliseconds silence_limit{5000};
};

// The answer to a fetch_add.
struct FetchReply {
  std::atomic<std::uint64_t> done = 0;  // 1 when `value` is there
  std::uint64_t value = 0;
};

class Link {
 public:
  // What a rank says beside its work, with a kind that only its reader knows.
  using NoteSink = std::function<void(int peer, std::uint32_t kind, const std::string& text)>;

  Link(ControlArea& control, WindowMemory& memory, std::unique_ptr<Streams> streams,
       LinkOptions options);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  // Source rows may be changed once a flush that was posted later has completed; destination rows
  // hold what was read then.
  void write(int peer, const RemoteRows& to, const std::byte* from, std::int64_t pitch);
  void read(int peer, const RemoteRows& from, std::byte* to, std::int64_t pitch);
  void fill(int peer, const RemoteRows& to, std::uint32_t value);
  void reduce(int peer, const RemoteRows& to, OutputType type, const std::byte* from,
              std::int64_t pitch);
  // The reply stays where it is until it is done or drop_memory() was called.
  void fetch_add(int peer, std::int64_t offset, std::uint64_t value, FetchReply& reply);
  // Behind everything that was posted to the peer before.
  void store_word(int peer, EpochSlot slot, std::uint64_t value);
  // flushed(peer) reaches the returned value when everything posted to the peer before has taken
  // effect there.
  std::uint64_t flush(int peer);
  const std::atomic<std::uint64_t>& flushed(int peer) const { return peers_[peer]->flushed; }
  // How many frames about a peer's memory have gone to the link.
  std::uint64_t memory_requests(int peer) const { return peers_[peer]->outbox.memory_requests(); }
  // After a failure: forgets what was posted and not sent. None of the memory that operations
  // named is touched any more when it returns.
  void drop_memory();

  // Tells all peers that this rank has reached a meeting, with a text if there is one. The peers
  // keep the last text, until the next one: what they still read is not written meanwhile.
  void announce(std::uint64_t meeting, const std::string* text);
  void note_completed(std::uint64_t meeting) { completed_.store(meeting); }
  // Whether a peer has seen all ranks at a meeting: then all their announcements are on their way.
  bool was_completed(std::uint64_t meeting) const { return peers_completed_.load() >= meeting; }
  // Tells all peers that this rank has failed, unless it only follows one that has told them.
  void abort(const std::string& report);
  void send_note(std::uint32_t kind, const std::string& text);
  // Notes go to this function, on the communication thread. Those that came before wait for it.
  void listen(NoteSink sink);
  // Tells all peers that this rank ends, sends what is left and stops. What cannot be sent within
  // the time is dropped.
  void leave(std::chrono::milliseconds patience = std::chrono::milliseconds(1000));

  int rank() const { return options_.rank; }
  int ranks() const { return static_cast<int>(peers_.size()); }
  // Ranks on this one's host, itself included.
  int ranks_here() const;
  // "rank 2 (pid 4711 on node3)"; see name_rank().
  std::string name_of(int peer) const;
  // Whether the peer's processes can be seen from here.
  bool shares_processes_with(int peer) const;
  // Since when nothing was heard of it.
  std::chrono::milliseconds silence(int peer) const;

 private:
  struct PendingRead {
    std::byte* to = nullptr;
    std::int64_t pitch = 0;
    RemoteRows rows;
    std::int64_t missing_bytes = 0;
  };
  struct Peer : FrameSink {
    Peer(Link& owner, int number) : link(owner), rank(number), inbox(*this) {}
    Destination place(const FrameHeader& header) override { return link.place(*this, header); }
    void take(const FrameHeader& header, std::string& text) override {
      link.take(*this, header, text);
    }

    Link& link;
    int rank;
    Outbox outbox;
    alignas(64) std::atomic<std::uint64_t> flushed = 0;
    std::atomic<std::uint64_t> flushes = 0;
    std::atomic<std::int64_t> heard_ns = 0;  // steady clock
    std::atomic<bool> gone = false;          // its stream has ended
    bool said_goodbye = false;               // communication thread only, as the rest
    bool said_farewell = false;
    Clock::time_point spoken_to{};
    // Below: held while bytes are received, so that drop_memory() can take places away.
    std::mutex inbox_mutex;
    Inbox inbox;
    std::map<std::uint64_t, PendingRead> reads;
    std::map<std::uint64_t, FetchReply*> fetches;
    std::uint64_t next_id = 1;
  };

  void serve();
  // True: a stream had its turn and would take more.
  bool send_all();
  bool receive_from(Peer& peer);
  void look_after_peers(Clock::time_point now);
  void lose(Peer& peer, const std::string& why);
  Destination place(Peer& peer, const FrameHeader& header);
  Destination place_read(Peer& peer, const FrameHeader& header);
  void take(Peer& peer, const FrameHeader& header, std::string& text);
  void take_memory(Peer& peer, const FrameHeader& header, std::string& text);
  void take_reduction(const FrameHeader& header, const std::string& text);
  void take_abort(Peer& peer, const FrameHeader& header, const std::string& text);
  void take_note(int peer, std::uint32_t kind, const std::string& text);
  void post(int peer, const FrameHeader& header, std::string text = {});
  void wake();
  RankArea& own_area() { return control_.ranks[options_.rank]; }

  ControlArea& control_;
  WindowMemory& memory_;
  std::unique_ptr<Streams> streams_;
  LinkOptions options_;
  std::vector<std::unique_ptr<Peer>> peers_;  // [rank]; the own one is never used
  std::atomic<std::uint64_t> completed_ = 0;
  std::atomic<std::uint64_t> peers_completed_ = 0;
  std::atomic<bool> asleep_ = false;
  std::chrono::milliseconds patience_{0};  // written before leaving_
  std::atomic<bool> leaving_ = false;
  bool rings_ = false;  // something came that a waiter may look for
  struct Note {
    int peer;
    std::uint32_t kind;
    std::string text;
  };
  std::mutex notes_mutex_;
  NoteSink note_sink_;
  std::vector<Note> early_notes_;
  std::thread thread_;
};

}  // namespace tandem::host
