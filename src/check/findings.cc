// SPDX-License-Identifier: Apache-2.0
#include "check/findings.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace tandem::check {

std::string Findings::signature(const Finding& finding) {
  std::string text(to_string(finding.code));
  for (char c : finding.object) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) text += c;
    if (c == '@' || c == '[') break;
  }
  for (const FindingSide& side : finding.sides) {
    text += cat("|", side.site.file, ":", side.site.line, ":", side.pipe.substr(0, 7));
  }
  return text;
}

void Findings::add(const Finding& finding) {
  const std::string key = signature(finding);
  const auto [found, fresh] = by_signature_.emplace(key, finding);
  if (fresh) {
    order_.push_back(key);
  } else {
    found->second.count += finding.count;
  }
}

bool Findings::has(FindingCode code) const {
  return std::ranges::any_of(by_signature_,
                             [&](const auto& entry) { return entry.second.code == code; });
}

std::vector<Finding> Findings::list() const {
  std::vector<Finding> findings;
  for (const std::string& key : order_) findings.push_back(by_signature_.at(key));
  return findings;
}

}  // namespace tandem::check
