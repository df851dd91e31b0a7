// SPDX-License-Identifier: Apache-2.0
#include "report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace tandem {
namespace {

// Names hold letters, digits, blanks, dots and slashes only, so they need no escapes.
class TraceWriter {
 public:
  TraceWriter(const Timeline& timeline, std::size_t events_max)
      : timeline_(timeline), left_(events_max) {
    number_tracks();
    find_arrow_ends();
  }

  std::string print() {
    text_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    metadata();
    // Arrows and counters get their share even where slices alone would fill the trace.
    const std::size_t budget = left_;
    part(budget / 100 * 55, timeline_.slices.size(), &TraceWriter::slice);
    part(budget / 100 * 15, timeline_.waits.size(), &TraceWriter::wait);
    part(budget / 100 * 20, timeline_.slices.size(), &TraceWriter::arrow);
    part(budget / 100 * 10, timeline_.samples.size(), &TraceWriter::counter);
    text_ += fmt::format("\n],\"otherData\":{{\"events\":\"{}\",\"left out\":\"{}\"}}}}\n",
                         written_, left_out_);
    return std::move(text_);
  }

 private:
  void number_tracks() {
    // Threads of a process in the order: cube cores, vector cores, each with pipes, then channels.
    threads_.resize(timeline_.tracks.size());
    std::vector<int> next(timeline_.ranks.size(), 0);
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      threads_[i] = ++next[timeline_.tracks[i].rank];
    }
  }

  bool is_arrow(const TimelineSlice& slice) const {
    if (slice.by < 0 || timeline_.slices[slice.by].track == slice.track) return false;
    return slice.cause == Cause::flag || slice.cause == Cause::epoch ||
           slice.cause == Cause::drain || slice.cause == Cause::sync_all;
  }

  void find_arrow_ends() {
    arrow_end_.assign(timeline_.slices.size(), 0);
    for (std::size_t i = 0; i < timeline_.slices.size(); ++i) {
      if (!is_arrow(timeline_.slices[i])) continue;
      arrow_end_[i] = 1;
      arrow_end_[timeline_.slices[i].by] = 1;
    }
  }

  static std::string time(Picoseconds ps) {
    return fmt::format("{}.{:06}", ps / 1'000'000, ps % 1'000'000);
  }

  template <typename... Arguments>
  void event(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
    if (written_ > 0) text_ += ",\n";
    fmt::format_to(std::back_inserter(text_), form, std::forward<Arguments>(arguments)...);
    ++written_;
  }

  void metadata() {
    for (std::size_t rank = 0; rank < timeline_.ranks.size(); ++rank) {
      event("{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{0},"
            "\"args\":{{\"name\":\"rank {0}\"}}}}",
            rank);
    }
    for (std::size_t i = 0; i < timeline_.tracks.size(); ++i) {
      const TimelineTrack& track = timeline_.tracks[i];
      event("{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
            "\"args\":{{\"name\":\"{}\"}}}}",
            track.rank, threads_[i], track.name());
    }
    left_ -= std::min(left_, written_);
  }

  void part(std::size_t budget, std::size_t count, void (TraceWriter::*write)(std::size_t)) {
    budget_ = budget;
    for (std::size_t i = 0; i < count; ++i) (this->*write)(i);
  }

  bool take(std::size_t events) {
    if (budget_ < events) {
      left_out_ += events;
      return false;
    }
    budget_ -= events;
    return true;
  }

  void slice(std::size_t index) {
    const TimelineSlice& slice = timeline_.slices[index];
    if (slice.end == slice.begin && arrow_end_[index] == 0) return;
    if (!take(1)) return;
    event("{{\"ph\":\"X\",\"name\":\"{}\",\"cat\":\"work\",\"pid\":{},\"tid\":{},\"ts\":{},"
          "\"dur\":{},\"args\":{{\"bytes\":{},\"cause\":\"{}\",\"line\":{}}}}}",
          slice.name, timeline_.tracks[slice.track].rank, threads_[slice.track], time(slice.begin),
          time(slice.end - slice.begin), slice.bytes, to_string(slice.cause), slice.site.line);
  }

  void wait(std::size_t index) {
    const TimelineWait& wait = timeline_.waits[index];
    if (!take(1)) return;
    event("{{\"ph\":\"X\",\"name\":\"wait {}\",\"cat\":\"wait\",\"pid\":{},\"tid\":{},\"ts\":{},"
          "\"dur\":{},\"args\":{{\"line\":{}}}}}",
          to_string(wait.cause), timeline_.tracks[wait.track].rank, threads_[wait.track],
          time(wait.begin), time(wait.end - wait.begin), wait.site.line);
  }

  void arrow(std::size_t index) {
    const TimelineSlice& slice = timeline_.slices[index];
    if (!is_arrow(slice) || !take(2)) return;
    const TimelineSlice& by = timeline_.slices[slice.by];
    const std::string_view name = to_string(slice.cause);
    event("{{\"ph\":\"s\",\"name\":\"{}\",\"cat\":\"arrow\",\"id\":{},\"pid\":{},\"tid\":{},"
          "\"ts\":{}}}",
          name, index, timeline_.tracks[by.track].rank, threads_[by.track],
          time(std::min(by.end, slice.begin)));
    event("{{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"{}\",\"cat\":\"arrow\",\"id\":{},\"pid\":{},"
          "\"tid\":{},\"ts\":{}}}",
          name, index, timeline_.tracks[slice.track].rank, threads_[slice.track],
          time(slice.begin));
  }

  void counter(std::size_t index) {
    const TimelineSample& sample = timeline_.samples[index];
    const TimelineResource& resource = timeline_.resources[sample.resource];
    if (!take(1)) return;
    event("{{\"ph\":\"C\",\"name\":\"{}\",\"pid\":{},\"ts\":{},\"args\":{{\"GB/s\":{:.3f}}}}}",
          resource.name, resource.rank, time(sample.time), sample.bytes_per_ps * 1e3);
  }

  const Timeline& timeline_;
  std::size_t left_;
  std::size_t budget_ = 0;
  std::size_t written_ = 0;
  std::size_t left_out_ = 0;
  std::vector<int> threads_;
  std::vector<char> arrow_end_;
  std::string text_;
};

}  // namespace

std::string trace_json(const Timeline& timeline, std::size_t events_max) {
  return TraceWriter(timeline, events_max).print();
}

}  // namespace tandem
