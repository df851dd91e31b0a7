// SPDX-License-Identifier: Apache-2.0
#include "host/link/inbox.h"

#include <algorithm>
#include <cstring>

namespace tandem::host {
namespace {

constexpr std::int64_t kHeaderBytes = sizeof(FrameHeader);
constexpr std::size_t kDirectPiecesMax = 128;
// Less than this is copied: a piece of its own costs the kernel more.
constexpr std::int64_t kDirectBytesMin = 1024;

bool is_sound(const FrameHeader& header) {
  const RemoteRows& rows = header.rows;
  if (rows.offset < 0 || rows.rows < 0 || rows.row_bytes < 0 || rows.pitch < 0) return false;
  constexpr std::int64_t kMax = std::int64_t{1} << 40;
  if (rows.offset > kMax || rows.rows > kMax || rows.row_bytes > kMax || rows.pitch > kMax) {
    return false;
  }
  if (rows.rows > 0 && std::max(rows.pitch, rows.row_bytes) > kMax / rows.rows) return false;
  return header.payload_bytes <= kTextPayloadBytesMax;
}

}  // namespace

void Inbox::collect() {
  pieces_.clear();
  direct_bytes_ = 0;
  const auto payload = static_cast<std::int64_t>(header_.payload_bytes);
  if (header_bytes_ == kHeaderBytes && destination_.kind == Destination::Kind::rows) {
    std::int64_t done = payload_done_;
    const std::int64_t row_bytes = header_.rows.row_bytes;
    while (done < payload && pieces_.size() < kDirectPiecesMax && row_bytes >= kDirectBytesMin) {
      const std::int64_t row = done / row_bytes;
      const std::int64_t column = done % row_bytes;
      std::byte* place = destination_.address + row * destination_.pitch + column;
      pieces_.push_back({place, static_cast<std::size_t>(row_bytes - column)});
      done += row_bytes - column;
    }
    direct_bytes_ = done - payload_done_;
    // The buffer would take what belongs behind rows that are not asked for here.
    if (direct_bytes_ > 0 && done < payload) return;
  }
  pieces_.push_back({buffer_.data(), buffer_.size()});
}

bool Inbox::arrived(std::int64_t bytes) {
  const std::int64_t direct = std::min(bytes, direct_bytes_);
  payload_done_ += direct;
  if (direct > 0 && payload_done_ == static_cast<std::int64_t>(header_.payload_bytes)) end_frame();
  return digest(buffer_.data(), bytes - direct);
}

bool Inbox::digest(const char* data, std::int64_t bytes) {
  while (bytes > 0) {
    std::int64_t used = 0;
    if (header_bytes_ < kHeaderBytes) {
      used = std::min(bytes, kHeaderBytes - header_bytes_);
      std::memcpy(reinterpret_cast<char*>(&header_) + header_bytes_, data, used);
      header_bytes_ += used;
      if (header_bytes_ == kHeaderBytes && !start_frame()) return false;
    } else {
      const auto payload = static_cast<std::int64_t>(header_.payload_bytes);
      used = std::min(bytes, payload - payload_done_);
      copy_payload(data, used);
      payload_done_ += used;
      if (payload_done_ == payload) end_frame();
    }
    data += used;
    bytes -= used;
  }
  return true;
}

bool Inbox::start_frame() {
  payload_done_ = 0;
  text_.clear();
  if (!is_sound(header_)) return false;
  destination_ = sink_->place(header_);
  if (destination_.kind == Destination::Kind::refused) return false;
  if (destination_.kind == Destination::Kind::rows &&
      static_cast<std::int64_t>(header_.payload_bytes) !=
          header_.rows.rows * header_.rows.row_bytes) {
    return false;
  }
  if (header_.payload_bytes == 0) end_frame();
  return true;
}

void Inbox::end_frame() {
  sink_->take(header_, text_);
  header_bytes_ = 0;
  destination_ = {};
}

void Inbox::copy_payload(const char* data, std::int64_t bytes) {
  if (destination_.kind == Destination::Kind::text) text_.append(data, bytes);
  if (destination_.kind != Destination::Kind::rows) return;
  std::int64_t done = payload_done_;
  const std::int64_t row_bytes = header_.rows.row_bytes;
  while (bytes > 0) {
    const std::int64_t row = done / row_bytes;
    const std::int64_t column = done % row_bytes;
    const std::int64_t part = std::min(bytes, row_bytes - column);
    std::memcpy(destination_.address + row * destination_.pitch + column, data, part);
    data += part;
    done += part;
    bytes -= part;
  }
}

}  // namespace tandem::host
