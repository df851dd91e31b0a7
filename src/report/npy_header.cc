// SPDX-License-Identifier: Apache-2.0
#include "report/npy_header.h"

#include <cstddef>
#include <utility>

#include "tandem/error.h"

namespace tandem {
namespace {

class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& subject)
      : text_(text), subject_(subject) {}

  NpyHeader parse() {
    NpyHeader header;
    expect('{');
    while (!take('}')) {
      std::string key = quoted();
      expect(':');
      read_value(key, header);
      if (!take(',')) {
        expect('}');
        break;
      }
    }
    skip_blanks();
    if (position_ != text_.size()) fail("text behind the dictionary");
    if (seen_ != kAll) fail("descr, fortran_order or shape is missing");
    return header;
  }

 private:
  enum Key : unsigned { kDescr = 1, kFortranOrder = 2, kShape = 4, kAll = 7 };

  void read_value(const std::string& key, NpyHeader& header) {
    if (key == "descr" && mark(kDescr)) {
      header.descr = quoted();
    } else if (key == "fortran_order" && mark(kFortranOrder)) {
      header.fortran_order = boolean();
    } else if (key == "shape" && mark(kShape)) {
      header.shape = extents();
    } else {
      fail("key '" + printable(key) + "' is unknown or stands twice");
    }
  }

  // False if the key was there before.
  bool mark(Key key) {
    bool first = (seen_ & key) == 0;
    seen_ |= key;
    return first;
  }

  [[noreturn]] void fail(const std::string& observation) const {
    throw Error(ErrorKind::refused, subject_ + ": header of the .npy file, byte " +
                                        std::to_string(position_) + ": " + observation +
                                        "; save the array again with numpy.save");
  }

  void skip_blanks() {
    constexpr std::string_view kBlanks = " \t\r\n";
    while (position_ < text_.size() && kBlanks.find(text_[position_]) != std::string_view::npos) {
      ++position_;
    }
  }

  bool take(char wanted) {
    skip_blanks();
    if (position_ == text_.size() || text_[position_] != wanted) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!take(wanted)) fail(std::string("'") + wanted + "' is missing");
  }

  std::string quoted() {
    char quote = take('\'') ? '\'' : '"';
    if (quote == '"') expect('"');
    std::size_t end = text_.find(quote, position_);
    if (end == std::string_view::npos) fail("a quoted word has no end");
    std::string word(text_.substr(position_, end - position_));
    position_ = end + 1;
    return word;
  }

  bool boolean() {
    skip_blanks();
    for (auto [word, value] : {std::pair<std::string_view, bool>{"True", true}, {"False", false}}) {
      if (text_.substr(position_, word.size()) == word) {
        position_ += word.size();
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }

  std::vector<std::int64_t> extents() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!take(')')) {
      shape.push_back(extent());
      if (shape.size() > 32) fail("more than 32 extents");
      if (!take(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::int64_t extent() {
    skip_blanks();
    std::size_t first = position_;
    std::int64_t value = 0;
    while (position_ < text_.size() && text_[position_] >= '0' && text_[position_] <= '9') {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, text_[position_] - '0', &value)) {
        fail("an extent exceeds 2^63 - 1");
      }
      ++position_;
    }
    if (position_ == first) fail("an extent is not a number");
    return value;
  }

  std::string_view text_;
  const std::string& subject_;
  std::size_t position_ = 0;
  unsigned seen_ = 0;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& subject) {
  return HeaderParser(text, subject).parse();
}

std::string printable(std::string_view text) {
  std::string shown;
  for (char c : text.substr(0, 24)) shown += (c >= ' ' && c <= '~') ? c : '?';
  return text.size() > 24 ? shown + "…" : shown;
}

}  // namespace tandem
