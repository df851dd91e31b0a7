// SPDX-License-Identifier: Apache-2.0
// Who this process is, from the variables that launchers set.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <functional>
#include <string_view>

#include "base/strings.h"
#include "tandem/error.h"
#include "tandem/world.h"

namespace tandem {
namespace {

struct Source {
  const char* rank;
  const char* size;
  const char* local_size;  // ranks on this host, if it says so
};

// In order of trust. SLURM_PROCID alone is also set in a batch script, which is no rank.
constexpr Source kSources[] = {
    {"TANDEM_RANK", "TANDEM_SIZE", nullptr},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", nullptr},
};

std::string text_of(const char* name) {
  const char* text = name == nullptr ? nullptr : std::getenv(name);
  return text == nullptr ? "" : text;
}

std::optional<int> number_of(const char* name) {
  const std::string text = text_of(name);
  int value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return value;
}

// "node[07-09,12],login1" → "node07".
std::string first_host_of(const std::string& list) {
  const std::size_t bracket = list.find('[');
  const std::size_t comma = list.find(',');
  if (bracket == std::string::npos || comma < bracket) return list.substr(0, comma);
  const std::size_t end = list.find_first_of(",-]", bracket);
  return list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
}

std::string job_from_env() {
  const std::string given = text_of("TANDEM_JOB");
  if (!given.empty()) return given;
  const std::string slurm = text_of("SLURM_JOB_ID");
  if (!slurm.empty()) return cat("slurm ", slurm, '.', text_of("SLURM_STEP_ID"));
  return text_of("OMPI_MCA_ess_base_jobid");
}

// A port that all ranks of a job find alike: below those that the kernel gives to connections.
std::string port_for(const std::string& what) {
  constexpr int kFirst = 20000;
  constexpr int kCount = 12000;
  return std::to_string(kFirst + std::hash<std::string_view>()(what) % kCount);
}

std::string root_from_env(const Source& source, int size) {
  const std::string given = text_of("TANDEM_ROOT");
  if (!given.empty()) return given;
  // Launched on one host, all ranks have the same parent.
  if (number_of(source.local_size) == size) return "127.0.0.1:" + port_for(cat(getppid()));
  const std::string hosts = text_of("SLURM_STEP_NODELIST");
  if (hosts.empty()) return "";
  return cat(first_host_of(hosts), ':', port_for(job_from_env()));
}

void refuse_singletons(const Membership& seat) {
  if (seat.size != 1) return;
  for (const Source& source : kSources) {
    const int size = number_of(source.size).value_or(1);
    if (size <= 1 || !number_of(source.rank)) continue;
    throw Error(ErrorKind::refused,
                cat("world: ", source.size, " says ", size, " processes, but each would be alone; ",
                    "start them with the launcher's own MPI (srun --mpi=…), or set TANDEM_RANK, ",
                    "TANDEM_SIZE and TANDEM_ROOT"));
  }
}

}  // namespace

std::optional<Membership> membership_from_env() {
  for (const Source& source : kSources) {
    const bool has_rank = !text_of(source.rank).empty();
    const bool has_size = !text_of(source.size).empty();
    const bool own = &source == &kSources[0];
    if (!has_rank && !(own && has_size)) continue;
    const auto rank = number_of(source.rank);
    const auto size = number_of(source.size);
    if (!rank || !size) {
      if (!own) continue;  // a part of a launcher's variables says nothing
      throw Error(ErrorKind::refused,
                  cat("world: TANDEM_RANK is '", text_of("TANDEM_RANK"), "' and TANDEM_SIZE is '",
                      text_of("TANDEM_SIZE"), "'; set both to numbers"));
    }
    Membership seat{
        .rank = *rank, .size = *size, .root = root_from_env(source, *size), .job = job_from_env()};
    if (!own) refuse_singletons(seat);
    return seat;
  }
  return std::nullopt;
}

}  // namespace tandem
