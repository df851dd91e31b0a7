// SPDX-License-Identifier: Apache-2.0
#include "host/link/outbox.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace tandem::host {
namespace {

// More are cut off by the kernel.
constexpr std::size_t kPiecesMax = 1024;
static_assert(kPiecesMax <= IOV_MAX);
// Not more is handed over at a time: what is posted later, and is short, overtakes the rest.
constexpr std::int64_t kSendingBytes = kPayloadBytesMax;

bool is_answer(FrameType type) {
  return type == FrameType::read_data || type == FrameType::flushed || type == FrameType::fetched;
}

}  // namespace

void Outbox::post(const FrameHeader& header, std::string text) {
  Frame frame{header, std::move(text), nullptr, 0};
  frame.header.payload_bytes = frame.text.size();
  push(std::move(frame));
}

void Outbox::post_rows(FrameHeader header, const std::byte* from, std::int64_t pitch) {
  RemoteRows all = header.rows;
  const bool answer = header.type == FrameType::read_data;  // rows and columns count from 0
  if (all.pitch == all.row_bytes && pitch == all.row_bytes && !answer) {
    all = {all.offset, 1, all.rows * all.row_bytes, all.rows * all.row_bytes};
    pitch = all.row_bytes;
  }
  const std::int64_t columns = std::min(all.row_bytes, kPayloadBytesMax);
  if (columns == 0) return;
  const std::int64_t rows =
      std::clamp<std::int64_t>(kPayloadBytesMax / columns, 1, kPayloadRowsMax);
  for (std::int64_t row = 0; row < all.rows; row += rows) {
    for (std::int64_t column = 0; column < all.row_bytes; column += columns) {
      header.rows.rows = std::min(rows, all.rows - row);
      header.rows.row_bytes = std::min(columns, all.row_bytes - column);
      header.rows.pitch = all.pitch;
      header.rows.offset = answer ? column : all.offset + row * all.pitch + column;
      if (answer) header.value = static_cast<std::uint64_t>(row);
      header.payload_bytes = static_cast<std::uint64_t>(header.rows.rows * header.rows.row_bytes);
      push({header, {}, from + row * pitch + column, pitch});
    }
  }
}

void Outbox::push(Frame frame) {
  const std::lock_guard guard(post_mutex_);
  if (memory_dropped_ && is_memory_frame(frame.header.type)) return;
  const bool answer = is_answer(frame.header.type);
  if (is_memory_frame(frame.header.type) && !answer) ++memory_requests_;
  (answer ? answers_ : own_).push_back(std::move(frame));
  has_posted_ = true;
}

std::uint64_t Outbox::memory_requests() const {
  const std::lock_guard guard(post_mutex_);
  return memory_requests_;
}

bool Outbox::has_posted() const {
  const std::lock_guard guard(post_mutex_);
  return has_posted_;
}

bool Outbox::empty() const {
  const std::lock_guard sending(send_mutex_);
  const std::lock_guard posting(post_mutex_);
  return own_.empty() && answers_.empty() && sending_.empty();
}

// Short frames first, long ones in turn; a goodbye when everything is said.
bool Outbox::take_next() {
  const bool has_both = !own_.empty() && !answers_.empty();
  bool answer = own_.empty();
  if (has_both) {
    const FrameHeader& own = own_.front().header;
    const FrameHeader& other = answers_.front().header;
    answer = other.payload_bytes == 0 || own.type == FrameType::goodbye ||
             (own.payload_bytes > 0 && answer_is_next_);
    answer_is_next_ = !answer;
  }
  std::deque<Frame>& from = answer ? answers_ : own_;
  if (from.empty()) return false;
  sending_bytes_ += from.front().bytes();
  sending_.push_back(std::move(from.front()));
  from.pop_front();
  return true;
}

void Outbox::collect() {
  {
    const std::lock_guard guard(post_mutex_);
    has_posted_ = false;
    while (sending_bytes_ < kSendingBytes && take_next()) {
    }
  }
  pieces_.clear();
  std::int64_t skip = sent_of_first_;
  for (const Frame& frame : sending_) {
    if (pieces_.size() + kPayloadRowsMax + 1 > kPiecesMax) break;
    collect_from(frame, skip);
    skip = 0;
  }
}

void Outbox::collect_from(const Frame& frame, std::int64_t skip) {
  const auto add = [&](const void* data, std::int64_t bytes) {
    if (skip >= bytes) {
      skip -= bytes;
      return;
    }
    auto* first = static_cast<char*>(const_cast<void*>(data)) + skip;
    pieces_.push_back({first, static_cast<std::size_t>(bytes - skip)});
    skip = 0;
  };
  add(&frame.header, sizeof frame.header);
  if (frame.from == nullptr) {
    add(frame.text.data(), static_cast<std::int64_t>(frame.text.size()));
    return;
  }
  for (std::int64_t row = 0; row < frame.header.rows.rows; ++row) {
    add(frame.from + row * frame.pitch, frame.header.rows.row_bytes);
  }
}

void Outbox::advance(std::int64_t bytes) {
  sent_of_first_ += bytes;
  while (!sending_.empty() && sent_of_first_ >= sending_.front().bytes()) {
    sent_of_first_ -= sending_.front().bytes();
    sending_bytes_ -= sending_.front().bytes();
    sending_.pop_front();
  }
}

void Outbox::drop_memory() {
  const auto is_memory = [](const Frame& frame) { return is_memory_frame(frame.header.type); };
  const std::lock_guard sending(send_mutex_);
  const std::lock_guard posting(post_mutex_);
  memory_dropped_ = true;
  std::erase_if(own_, is_memory);
  answers_.clear();
  if (sending_.empty()) return;
  Frame first = std::move(sending_.front());
  sending_.pop_front();
  std::erase_if(sending_, is_memory);
  if (sent_of_first_ > 0 && first.from != nullptr) {
    first.text.resize(first.header.payload_bytes);
    char* next = first.text.data();
    for (std::int64_t row = 0; row < first.header.rows.rows; ++row) {
      std::memcpy(next, first.from + row * first.pitch, first.header.rows.row_bytes);
      next += first.header.rows.row_bytes;
    }
    first.from = nullptr;
  }
  if (sent_of_first_ > 0 || !is_memory(first)) sending_.push_front(std::move(first));
  sending_bytes_ = 0;
  for (const Frame& frame : sending_) sending_bytes_ += frame.bytes();
}

}  // namespace tandem::host
