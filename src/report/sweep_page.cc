// SPDX-License-Identifier: Apache-2.0
#include "report/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace tandem {
namespace {

constexpr double kWidth = 900;
constexpr double kHeight = 320;
constexpr double kLeft = 70;
constexpr double kTop = 20;
constexpr double kBottom = 40;
constexpr double kRowHeight = 18;

constexpr const char* kStyle =
    "body{font-family:sans-serif;margin:2em;color:#222}pre{background:#f6f6f6;padding:1em;"
    "overflow:auto}svg{background:#fff;max-width:100%}text{font-size:12px;fill:#222}"
    ".axis{stroke:#888;fill:none}.grid{stroke:#ddd}.time{stroke:#1b5fa7;fill:none;stroke-width:2}"
    ".products{stroke:#2a8a4a;fill:none}.transfers{stroke:#c0562b;fill:none}"
    ".exposed{stroke:#8a5aa8;fill:none;stroke-dasharray:4 3}.best{fill:#1b5fa7}"
    ".load{fill:#7aa6d8}.matmul{fill:#2a8a4a}.store{fill:#d8a63a}.write_nbi,.read_nbi{fill:#c0562b}"
    ".scalar{fill:#999}.accumulate,.convert{fill:#8a5aa8}.wait{fill:#f3c6c6}";

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string us(Picoseconds time) {
  return fmt::format("{:.1f}", static_cast<double>(time) / 1e6);
}

// The curves over tile counts, on a logarithmic axis of tiles.
class CurvePicture {
 public:
  explicit CurvePicture(const std::vector<SweepPagePoint>& points) : points_(points) {
    for (const SweepPagePoint& point : points) {
      top_ = std::max({top_, point.time, point.products, point.transfers});
    }
  }

  std::string print() {
    std::string svg = fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n", kWidth, kHeight);
    for (int i = 0; i <= 4; ++i) {
      const Picoseconds level = top_ / 4 * i;
      svg += fmt::format(
          "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{:.1f}\" y2=\"{:.1f}\"/>"
          "<text x=\"4\" y=\"{:.1f}\">{} us</text>\n",
          kLeft, kWidth - 20, y(level), y(level), y(level) + 4, us(level));
    }
    curve(svg, "time", &SweepPagePoint::time);
    curve(svg, "products", &SweepPagePoint::products);
    curve(svg, "transfers", &SweepPagePoint::transfers);
    curve(svg, "exposed", &SweepPagePoint::exposed);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const SweepPagePoint& point = points_[i];
      svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\">{}</text>\n", x(i) - 6, kHeight - 18,
                         point.tiles);
      if (!point.best) continue;
      svg += fmt::format(
          "<circle class=\"best\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\">best: {} tiles, {} us, masking {:.2f}</text>\n",
          x(i), y(point.time), x(i) + 8, y(point.time) - 8, point.tiles, us(point.time),
          point.masking);
    }
    svg += fmt::format("<text x=\"{}\" y=\"{}\">tiles</text>\n", kWidth / 2, kHeight - 2);
    return svg + "</svg>\n<p>time (thick), products alone, transfers alone, exposed (dashed)</p>\n";
  }

 private:
  double x(std::size_t index) const {
    const double steps = std::max<std::size_t>(points_.size() - 1, 1);
    return kLeft + 20 + (kWidth - kLeft - 240) * static_cast<double>(index) / steps;
  }
  double y(Picoseconds time) const {
    const double share = top_ > 0 ? static_cast<double>(time) / static_cast<double>(top_) : 0;
    return kHeight - kBottom - (kHeight - kBottom - kTop) * share;
  }
  void curve(std::string& svg, const char* name, Picoseconds SweepPagePoint::* value) const {
    svg += fmt::format("<polyline class=\"{}\" points=\"", name);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      svg += fmt::format("{:.1f},{:.1f} ", x(i), y(points_[i].*value));
    }
    svg += "\"/>\n";
  }

  const std::vector<SweepPagePoint>& points_;
  Picoseconds top_ = 1;
};

// The pipes of block 0 of a rank in time, and its channels.
std::string rank_picture(const Timeline& timeline, int rank) {
  std::map<int, int> rows;  // track → row
  std::string labels;
  std::vector<char> used(timeline.tracks.size(), 0);
  for (const TimelineSlice& slice : timeline.slices) {
    if (slice.end > slice.begin) used[slice.track] = 1;
  }
  for (std::size_t i = 0; i < timeline.tracks.size(); ++i) {
    const TimelineTrack& track = timeline.tracks[i];
    if (track.rank != rank || track.block != 0 || used[i] == 0) continue;
    const int row = static_cast<int>(rows.size());
    rows[static_cast<int>(i)] = row;
    labels += fmt::format("<text x=\"4\" y=\"{:.1f}\">{}</text>\n", row * kRowHeight + 13,
                          track.name());
  }
  constexpr double kNames = 150;
  const double scale =
      (kWidth - kNames) / static_cast<double>(std::max<Picoseconds>(timeline.makespan, 1));
  std::string bars;
  const auto bar = [&](int track, std::string_view name, Picoseconds begin, Picoseconds end) {
    const auto row = rows.find(track);
    const double width = static_cast<double>(end - begin) * scale;
    if (row == rows.end() || width < 0.05) return;  // nobody could see it
    bars += fmt::format(
        "<rect class=\"{0}\" x=\"{1:.2f}\" y=\"{2:.1f}\" width=\"{3:.2f}\" height=\"14\">"
        "<title>{0} {4}-{5} us</title></rect>\n",
        name, kNames + static_cast<double>(begin) * scale, row->second * kRowHeight + 2, width,
        us(begin), us(end));
  };
  for (const TimelineWait& wait : timeline.waits) bar(wait.track, "wait", wait.begin, wait.end);
  for (const TimelineSlice& slice : timeline.slices) {
    bar(slice.track, slice.name, slice.begin, slice.end);
  }
  const double height = static_cast<double>(rows.size()) * kRowHeight;
  return fmt::format("<h2>rank {}, block 0</h2>\n<svg viewBox=\"0 0 {} {:.0f}\" role=\"img\">\n",
                     rank, kWidth, height + 20) +
         labels + bars +
         fmt::format("<text x=\"{}\" y=\"{:.0f}\">0 to {} us</text>\n</svg>\n", kNames, height + 14,
                     us(timeline.makespan));
}

}  // namespace

std::string print_sweep_page(const SweepPage& page) {
  std::string html = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n"
      "<style>{}</style></head><body>\n<h1>{}</h1>\n<p>{}</p>\n",
      escaped(page.title), kStyle, escaped(page.title), escaped(page.subtitle));
  if (!page.points.empty()) html += "<h2>tile counts</h2>\n" + CurvePicture(page.points).print();
  if (page.timeline != nullptr) html += rank_picture(*page.timeline, page.rank);
  return html + "<h2>report</h2>\n<pre>" + escaped(page.text) + "</pre>\n</body></html>\n";
}

}  // namespace tandem
