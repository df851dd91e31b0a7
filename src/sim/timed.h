// SPDX-License-Identifier: Apache-2.0
// The machine with a clock: the same machine, the same kernels, but operations take time. Events in
// integer picoseconds; the earliest goes first, equal ones in the order in which they were planned.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "base/timeline.h"
#include "sim/cost.h"
#include "sim/flow.h"
#include "sim/machine.h"
#include "sim/workers.h"

namespace tandem::sim {

struct TimedOptions {
  FreeCores free = FreeCores::none;
  int workers = 0;                      // of a rank, for devices with shared workers; 0: one
  std::vector<Picoseconds> late_start;  // by rank; missing: 0
  bool samples = false;                 // keep the use of memories and links over time
};

class TimedRun final : private Observer {
 public:
  TimedRun(Program program, const Device& device, TimedOptions options);
  ~TimedRun() override;

  // Runs to the end, or until nothing can go on (finished is false then).
  Timeline run();
  Machine& machine() { return *machine_; }

  // For the machine.
  Picoseconds now() const { return now_; }
  void call(SimCore& core) { spend(core, cost_.costs().call_ns); }
  void post(SimCore& core) { spend(core, cost_.costs().post_ns); }
  void work(SimCore& core, ScalarWork work);
  void issued(SimCore& core, Op& op);
  void queued(SimCore& core);
  void posted(SimCore& core, int channel);
  void drain_over(SimCore& core) { spend(core, cost_.costs().drain_ns); }
  void begin_wait(SimCore& core, bool over);
  void end_wait(SimCore& core);
  bool postpones_flag(SimCore& to, int id, const Token& token);
  bool postpones_event(SimCore& core, int key, const Token& token);

 private:
  // Where something came from: the slice, why, and when it took effect.
  struct Origin {
    std::int64_t slice = -1;
    Cause cause = Cause::start;
    Picoseconds time = 0;
  };
  struct LaneState {
    int track = 0;
    Origin last;  // end of the operation before
  };
  struct CoreState {
    std::array<LaneState, kLanes> lanes;
    std::int64_t scalar = -1;  // open slice
    bool waiting = false;
    Picoseconds wait_begin = 0;
    Origin release;        // of the scalar stream's wait
    Picoseconds owed = 0;  // scalar time to add to the next work on a shared worker
    std::array<std::int64_t, 2> slots{-1, -1};  // load in each L1 slot
    std::deque<std::int64_t> staged;            // loads whose products have not begun
  };
  struct LoadState {
    LoadShape shape;
    std::vector<View> rows;   // shared workers: its fragments
    Picoseconds weights = 0;  // shared workers: for packed weights that are in no cache
    double head = 1;          // part after which the product may begin
    bool done = false;
    Picoseconds done_at = 0;
    std::int64_t slice = -1;
    std::vector<std::uint64_t> followers;  // jobs that end only after it
  };
  // On a shared worker.
  struct DecodedRows {
    int owner = -1;  // core
    std::vector<View> rows;
  };
  struct ChannelState {
    int track = 0;
    Origin last;
    Origin arrived;  // last completion
  };
  // Something in service.
  struct Job {
    enum class Kind : std::uint8_t { pipe, head, rest, stage, product, transfer } kind = Kind::pipe;
    int core = 0;
    int part = 0;  // lane or channel
    std::int64_t slice = -1;
    std::int64_t load = -1;
    Picoseconds begin = 0;
    Picoseconds time = 0;  // after the bytes, or all of it
    int flow = -1;         // head: of the rest of the load
    double rest = 0;       // its bytes
  };
  struct Event {
    enum class Kind : std::uint8_t { wake, job, stage_ready, flag, event, epoch, arrival, launch };
    Picoseconds time = 0;
    std::uint64_t order = 0;
    Kind kind = Kind::wake;
    int target = 0;           // core, rank or wire
    std::uint64_t item = 0;   // job, flag id or event key
    std::uint32_t token = 0;  // index into tokens_in_flight_
    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  // timed.cc: the clock.
  void plan(Event event, Picoseconds delay);
  void drain_ready();
  void step(int entity);
  void handle(const Event& event);
  void sample();
  void dispatch();
  void spend(SimCore& core, std::int64_t nanoseconds);
  void run_scalar(SimCore& core);
  void run_wire(int wire);
  void close_scalar(SimCore& core);
  void launch_ends(int rank, int launch) override;
  std::uint32_t keep(const Token& token);

  // timed_service.cc: operations in service.
  void begin_pipe(SimCore& core, int lane);
  void serve(SimCore& core, Op& op, Job job);
  void serve_load(SimCore& core, Op& op, Job job);
  void serve_stage(SimCore& core, const Op& op, Job job);
  void serve_product(SimCore& core, Job job);
  Picoseconds product_by_worker(const SimCore& core, const LoadState& load);
  Picoseconds decode_by_worker(const Work& work);
  void begin_job(SimCore& core, const Job& job, const Service& service);
  void begin_work(SimCore& core, const Job& job, Picoseconds time, Share share);
  void bytes_moved(std::uint64_t index);
  void job_done(std::uint64_t index);
  void end_pipe(SimCore& core, int lane, bool has_ended);
  void load_done(std::int64_t load);
  void stage_ready(SimCore& core);
  void end_rest(const Job& job);
  void end_product(const Job& job);
  std::uint64_t new_job(const Job& job);
  std::int64_t add_slice(int track, const Op& op, const Origin& origin, Picoseconds begin);
  void count(const SimCore& core, const Op& op);

  // timed_channel.cc: transfers.
  void begin_channel(int channel);
  void end_transfer(std::uint64_t index);
  void arrive(std::uint64_t index);

  // timed_origin.cc: who waited for whom.
  void set(Op& op, Token& token) override;
  void merge(Token& whole, const Token& part) override;
  void take(SimCore& core, Op* op, const Token& token, Site site) override;
  void store_epoch(SimCore& core, Op* notify, Token& token) override;
  void epoch_arrives(int rank, EpochSlot slot, std::uint64_t value, const Token& token) override;
  Origin origin_of_pipe(SimCore& core, int lane, const Op& op);
  Origin origin_of_wait(SimCore& core);
  void record_pipe_wait(int track, const Origin& from, const Op& op, const Origin& origin);
  Origin& token_origin(std::uint32_t id);
  int scalar_track(const SimCore& core) const;

  TimedOptions options_;
  FlowNetwork flows_;
  std::unique_ptr<Machine> machine_;
  CostModel cost_;
  std::unique_ptr<Workers> workers_;  // of devices with shared workers
  Timeline timeline_;
  Picoseconds now_ = 0;
  std::uint64_t order_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<CoreState> cores_;
  std::vector<DecodedRows> decoded_;  // by worker
  std::vector<ChannelState> channels_;
  std::vector<std::size_t> wires_;  // stores of each wire that are on their way
  std::vector<LoadState> loads_;
  std::vector<Job> jobs_;
  std::vector<std::uint64_t> free_jobs_;
  std::vector<std::unique_ptr<Op>> flying_;  // by job: transfers that have left their channel
  std::vector<Origin> tokens_;               // by token number
  std::vector<Origin> words_;                // by rank and epoch slot
  std::vector<Token> tokens_in_flight_;
  std::vector<std::uint32_t> free_tokens_;
  std::vector<std::int64_t> worked_;  // by worker: the slice that ended last
  std::vector<std::uint64_t> moved_;
  std::vector<double> rates_;  // last sample of each resource
  Origin taken_;               // by the operation that begins now
  bool delivering_ = false;
};

}  // namespace tandem::sim
