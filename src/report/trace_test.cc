// SPDX-License-Identifier: Apache-2.0
#include "report/trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

using nlohmann::json;

// Two ranks; a flag from a pipe of rank 0's cube core to its vector core, a transfer to rank 1.
Timeline small_timeline() {
  Timeline timeline;
  timeline.makespan = 5'000'000;
  timeline.ranks.resize(2);
  timeline.tracks = {{.rank = 0, .block = 3, .cube = true, .pipe = "M"},
                     {.rank = 0, .block = 3, .cube = false, .pipe = "S"},
                     {.rank = 0, .block = 3, .cube = false, .peer = 1, .pipe = "channel"}};
  timeline.slices = {
      {.track = 0, .name = "matmul", .begin = 0, .end = 2'000'000, .work = 2'000'000},
      {.track = 0, .name = "set_flag", .begin = 2'000'000, .end = 2'000'000, .by = 0,
       .cause = Cause::pipe, .released = 2'000'000},
      {.track = 1, .name = "scalar", .begin = 2'200'000, .end = 2'500'000, .by = 1,
       .cause = Cause::flag, .released = 2'200'000},
      {.track = 2, .name = "write_nbi", .begin = 2'500'000, .end = 4'000'001, .bytes = 4096,
       .by = 2, .cause = Cause::issue, .released = 2'500'000},
      {.track = 0, .name = "set_event", .begin = 2'000'000, .end = 2'000'000}};
  timeline.waits = {{.track = 1, .cause = Cause::flag, .begin = 0, .end = 2'200'000}};
  timeline.resources = {{"rank 0 HBM", 0, 1.6}};
  timeline.samples = {{0, 2'500'000, 0.056}, {0, 4'000'001, 0}};
  return timeline;
}

TEST(Trace, ASliceIsACompleteEventInMicroseconds) {
  const json trace = json::parse(trace_json(small_timeline()));
  int found = 0;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] != "write_nbi") continue;
    ++found;
    EXPECT_EQ(event["ph"], "X");
    EXPECT_EQ(event["pid"], 0);
    EXPECT_DOUBLE_EQ(event["ts"], 2.5);
    EXPECT_DOUBLE_EQ(event["dur"], 1.500001);
    EXPECT_EQ(event["args"]["bytes"], 4096);
  }
  EXPECT_EQ(found, 1);
}

TEST(Trace, NamesProcessesAndThreads) {
  const json trace = json::parse(trace_json(small_timeline()));
  std::map<std::string, int> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "M") ++names[event["args"]["name"]];
  }
  EXPECT_EQ(names, (std::map<std::string, int>{{"rank 0", 1}, {"rank 1", 1}, {"cube 3 M", 1},
                                               {"vector 3 S", 1}, {"vector 3 to rank 1", 1}}));
}

TEST(Trace, AnArrowLeadsFromTheSetterToTheWaiter) {
  const json trace = json::parse(trace_json(small_timeline()));
  json start, end, setter;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "s") start = event;
    if (event["ph"] == "f") end = event;
    if (event["name"] == "set_flag") setter = event;
    EXPECT_NE(event["name"], "set_event");  // no time, no arrow: left out
  }
  EXPECT_EQ(start["id"], end["id"]);
  EXPECT_DOUBLE_EQ(start["ts"], 2.0);
  EXPECT_DOUBLE_EQ(end["ts"], 2.2);
  EXPECT_NE(start["tid"], end["tid"]);
  EXPECT_EQ(setter["tid"], start["tid"]);  // an arrow must begin on a slice
}

TEST(Trace, CountersShowWhatPassesThroughAResource) {
  const json trace = json::parse(trace_json(small_timeline()));
  std::vector<double> values;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "C") values.push_back(event["args"]["GB/s"]);
  }
  EXPECT_EQ(values, (std::vector<double>{56, 0}));
}

TEST(Trace, IsCutAtItsLimitAndSaysSo) {
  Timeline timeline = small_timeline();
  for (int i = 0; i < 1000; ++i) {
    timeline.slices.push_back({.track = 0, .name = "matmul", .begin = 5'000'000 + i * 10,
                               .end = 5'000'010 + i * 10});
  }
  const json whole = json::parse(trace_json(timeline));
  EXPECT_EQ(whole["otherData"]["left out"], "0");
  const json cut = json::parse(trace_json(timeline, 300));
  EXPECT_LE(cut["traceEvents"].size(), 300u);
  EXPECT_GT(cut["traceEvents"].size(), 100u);
  EXPECT_EQ(std::to_string(cut["traceEvents"].size()), cut["otherData"]["events"]);
  const auto left_out = std::stoul(cut["otherData"]["left out"].get<std::string>());
  EXPECT_EQ(left_out + cut["traceEvents"].size(), whole["traceEvents"].size());
}

}  // namespace
}  // namespace tandem
