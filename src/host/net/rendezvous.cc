// SPDX-License-Identifier: Apache-2.0
#include "host/net/rendezvous.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/strings.h"
#include "host/net/message.h"
#include "host/reports/rank_name.h"
#include "tandem/error.h"
#include "tandem/version.h"

namespace tandem::host {
namespace {

constexpr std::size_t kStrangersMax = 256;  // connections that have not yet said who they are

// Who has a reason to refuse the world waits so long for the others, who are to hear it too.
constexpr std::chrono::milliseconds kLastCall{500};

// What a member says first: lines, then the contact.
struct Hello {
  std::string version;
  std::string job;
  int rank = -1;
  int ranks = 0;
  bool lacks = false;  // something; the contact says what
  Member member;
};

// Its contact, or what it lacks.
void make_contact(Hello& hello, const RendezvousSpec& spec, const Socket& local) {
  try {
    hello.member.contact = spec.contact ? spec.contact(local) : "";
  } catch (const Error& error) {
    hello.lacks = true;
    hello.member.contact = error.what();
  }
}

std::string to_text(const Hello& hello) {
  return cat(hello.version, '\n', hello.job, '\n', hello.rank, '\n', hello.ranks, '\n',
             hello.member.pid, '\n', hello.member.host, '\n', hello.member.identity, '\n',
             hello.member.door, '\n', hello.lacks ? 1 : 0, '\n', hello.member.contact);
}

Hello parse_hello(const std::string& text) {
  Hello hello;
  std::istringstream lines(text);
  std::string rank, ranks, pid, lacks;
  std::getline(lines, hello.version);
  std::getline(lines, hello.job);
  std::getline(lines, rank);
  std::getline(lines, ranks);
  std::getline(lines, pid);
  std::getline(lines, hello.member.host);
  std::getline(lines, hello.member.identity);
  std::getline(lines, hello.member.door);
  std::getline(lines, lacks);
  hello.lacks = lacks == "1";
  hello.rank = std::atoi(rank.c_str());
  hello.ranks = std::atoi(ranks.c_str());
  hello.member.pid = std::atoi(pid.c_str());
  std::ostringstream rest;
  rest << lines.rdbuf();
  hello.member.contact = rest.str();
  return hello;
}

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

Hello own_hello(const RendezvousSpec& spec) {
  Hello hello{.version = std::string(kVersion),
              .job = spec.job,
              .rank = spec.rank,
              .ranks = spec.ranks,
              .lacks = false,
              .member = {}};
  char text[256] = {};
  gethostname(text, sizeof text - 1);
  hello.member.pid = getpid();
  hello.member.door = spec.door;
  hello.member.host = text;
  const ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  hello.member.identity = cat(first_line_of("/proc/sys/kernel/random/boot_id"), ' ',
                              std::string(text, bytes > 0 ? bytes : 0));
  return hello;
}

std::string_view word_of(ErrorKind kind) {
  if (kind == ErrorKind::refused) return "refused\n";
  if (kind == ErrorKind::environment) return "environment\n";
  return kind == ErrorKind::timeout ? "timeout\n" : "lost\n";
}

// "ok", or the word of an error, then the members or the message.
std::string to_answer(const std::vector<Member>& members) {
  std::string text = "ok\n";
  for (const Member& member : members) {
    text += cat(member.pid, '\n', member.host, '\n', member.identity, '\n', member.door, '\n',
                member.contact.size(), '\n', member.contact);
  }
  return text;
}

std::vector<Member> parse_answer(const std::string& text, const RendezvousSpec& spec) {
  std::istringstream lines(text);
  std::string word;
  std::getline(lines, word);
  const std::string message = text.substr(std::min(text.size(), word.size() + 1));
  for (const auto kind : {ErrorKind::refused, ErrorKind::environment, ErrorKind::timeout}) {
    if (word + '\n' == word_of(kind)) throw Error(kind, message);
  }
  if (word != "ok") throw Error(ErrorKind::lost_rank, message);
  std::vector<Member> members(spec.ranks);
  for (Member& member : members) {
    std::string pid, bytes;
    std::getline(lines, pid);
    std::getline(lines, member.host);
    std::getline(lines, member.identity);
    std::getline(lines, member.door);
    std::getline(lines, bytes);
    member.pid = std::atoi(pid.c_str());
    member.contact.resize(std::min<std::size_t>(std::atoi(bytes.c_str()), kMessageBytesMax));
    lines.read(member.contact.data(), static_cast<std::streamsize>(member.contact.size()));
  }
  return members;
}

// Rank 0's side.
class Root {
 public:
  Root(const RendezvousSpec& spec, Socket listener)
      : spec_(spec),
        listener_(std::move(listener)),
        deadline_(Clock::now() + spec.timeout),
        present_(spec.ranks) {
    met_.members.resize(spec.ranks);
    met_.sockets.resize(spec.ranks);
    if (!listener_.open() && spec.ranks > 1) listener_ = listen_on({"", spec.root.port});
    Hello own = own_hello(spec);
    make_contact(own, spec, listener_);
    if (own.lacks) note(ErrorKind::environment, own.member.contact);
    met_.members[0] = own.member;
    present_[0] = true;
  }

  Rendezvous run() {
    try {
      while (missing() > 0 && Clock::now() < deadline_) listen_once();
      if (missing() > 0 && reasons_.empty()) give_up();
      if (!reasons_.empty()) throw Error(kind_, reasons_);
    } catch (const Error& error) {
      tell_all(cat(word_of(error.kind()), error.what()));
      throw;
    }
    tell_all(to_answer(met_.members));
    return std::move(met_);
  }

 private:
  struct Stranger {
    Socket socket;
    std::string text;
  };

  int missing() const {
    int count = 0;
    for (const bool present : present_) count += present ? 0 : 1;
    return count;
  }

  void listen_once() {
    std::vector<pollfd> polls{{listener_.file(), POLLIN, 0}};
    for (const Stranger& stranger : strangers_)
      polls.push_back({stranger.socket.file(), POLLIN, 0});
    auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    if (spec_.check) left = std::min(left, kCheckSlice);
    poll(polls.data(), polls.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    if (spec_.check) spec_.check();
    while (strangers_.size() < kStrangersMax) {
      Socket socket = try_accept(listener_);
      if (!socket.open()) break;
      strangers_.push_back({std::move(socket), {}});
    }
    std::erase_if(strangers_, [this](Stranger& stranger) { return !hear(stranger); });
  }

  // False: it has become a member, or it is none.
  bool hear(Stranger& stranger) {
    char data[4096];
    while (true) {
      const ssize_t got = recv(stranger.socket.file(), data, sizeof data, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return true;
      if (got <= 0) return drop();
      stranger.text.append(data, static_cast<std::size_t>(got));
      const std::size_t compared = std::min(stranger.text.size(), sizeof kMagic);
      if (std::memcmp(stranger.text.data(), kMagic, compared) != 0) return drop();
      if (stranger.text.size() < sizeof(MessageHead)) continue;
      MessageHead head;
      std::memcpy(&head, stranger.text.data(), sizeof head);
      if (head.bytes > kMessageBytesMax) return drop();
      if (stranger.text.size() < sizeof head + head.bytes) continue;
      return welcome(stranger, parse_hello(stranger.text.substr(sizeof head)));
    }
  }

  bool drop() {
    ++dropped_;
    return false;
  }

  // A reason why there will be no world.
  void note(ErrorKind kind, const std::string& reason) {
    if (reasons_.empty()) deadline_ = std::min(deadline_, Clock::now() + kLastCall);
    reasons_ += (reasons_.empty() ? "" : "\n") + reason;
    if (kind_ != ErrorKind::refused) kind_ = kind;
  }

  bool welcome(Stranger& stranger, const Hello& hello) {
    if (hello.job != spec_.job) return drop();
    const auto refuse = [&](const std::string& reason) {
      note(ErrorKind::refused, cat("world: rank ", hello.rank, " on ", hello.member.host, " (pid ",
                                   hello.member.pid, ") ", reason));
    };
    const bool is_one = hello.rank >= 1 && hello.rank < spec_.ranks;
    const bool is_first = is_one && !present_[hello.rank];
    if (hello.version != kVersion) {
      refuse(cat("is version ", hello.version, ", rank 0 is ", kVersion, "; install the same"));
    }
    if (hello.ranks != spec_.ranks) {
      refuse(cat("was started for ", hello.ranks, " ranks, rank 0 for ", spec_.ranks,
                 "; start all with the same count"));
    }
    if (!is_one) {
      refuse(cat("is none of the ranks 1 to ", spec_.ranks - 1, "; give each process its own"));
    } else if (!is_first) {
      const Member& first = met_.members[hello.rank];
      refuse(cat("came after another rank ", hello.rank, " on ", first.host, " (pid ", first.pid,
                 "); give each process its own rank"));
    }
    if (!is_first) {
      refused_.push_back(std::move(stranger.socket));
      return false;
    }
    if (hello.lacks) note(ErrorKind::environment, hello.member.contact);
    met_.members[hello.rank] = hello.member;
    met_.sockets[hello.rank] = std::move(stranger.socket);
    present_[hello.rank] = true;
    return false;
  }

  [[noreturn]] void give_up() {
    std::string names;
    for (int rank = 0; rank < spec_.ranks; ++rank) {
      if (present_[rank]) continue;
      names += (names.empty() ? "" : ", ") + name_rank(rank, spec_.group, "never came");
    }
    std::string text = cat(name_rank(0, spec_.group), ": waited ", spec_.timeout.count(),
                           " ms at the rendezvous (", to_string(spec_.root), ") for: ", names);
    if (dropped_ > 0) {
      text += cat("; ", dropped_, " connections were not of this job (id '", spec_.job, "')");
    }
    throw Error(ErrorKind::timeout, text);
  }

  void tell_all(const std::string& text) {
    const auto limit = Clock::now() + std::chrono::seconds(1);
    for (const Socket& socket : met_.sockets) {
      if (socket.open()) send_message(socket, text, limit);
    }
    for (const Socket& socket : refused_) send_message(socket, text, limit);
  }

  const RendezvousSpec& spec_;
  Socket listener_;
  Clock::time_point deadline_;
  std::vector<bool> present_;
  std::vector<Stranger> strangers_;
  std::vector<Socket> refused_;
  int dropped_ = 0;
  std::string reasons_;
  ErrorKind kind_ = ErrorKind::environment;  // of the reasons
  Rendezvous met_;
};

Rendezvous join_root(const RendezvousSpec& spec) {
  const auto deadline = Clock::now() + spec.timeout;
  Rendezvous met;
  met.sockets.resize(spec.ranks);
  std::string why = "no answer";
  const std::string subject =
      cat(name_rank(spec.rank, spec.group), ": rendezvous at ", to_string(spec.root));
  Socket& root = met.sockets[0];
  while (!root.open()) {
    // A host that does not answer any more is tried again each second, to look at the check.
    const auto limit = spec.check ? Clock::now() + std::chrono::seconds(1) : deadline;
    root = try_connect(spec.root, std::min(deadline, limit), why);
    if (root.open()) break;
    if (spec.check) spec.check();
    if (Clock::now() >= deadline) {
      throw Error(ErrorKind::timeout,
                  cat(subject, ": ", name_rank(0, spec.group, "never came"), ", waited ",
                      spec.timeout.count(), " ms: ", why,
                      "; start rank 0 there, or check the address and the firewall"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Hello own = own_hello(spec);
  make_contact(own, spec, root);
  std::string answer;
  // Rank 0 knows best who is missing, so it gets a moment to say so.
  const auto patience = deadline + std::chrono::seconds(1);
  const bool sent = send_message(root, to_text(own), deadline);
  if (!sent || !wait_readable(root, patience, spec.check) ||
      !receive_message(root, answer, patience)) {
    if (own.lacks) throw Error(ErrorKind::environment, own.member.contact);
    const bool late = Clock::now() >= patience;
    throw Error(late ? ErrorKind::timeout : ErrorKind::lost_rank,
                cat(subject, late ? ": no answer in time" : ": the connection ended",
                    "; is rank 0 of the same job (id '", spec.job, "') and still there?"));
  }
  met.members = parse_answer(answer, spec);
  return met;
}

}  // namespace

Rendezvous meet_members(const RendezvousSpec& spec, Socket listener) {
  return spec.rank == 0 ? Root(spec, std::move(listener)).run() : join_root(spec);
}

}  // namespace tandem::host
