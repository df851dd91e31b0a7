// SPDX-License-Identifier: Apache-2.0
// Edits of whole recordings: errors and correct variants that are more than one call in one place.
#pragma once

#include "check/mutants/mutation.h"

namespace tandem::check {

// Every rank sets the words that its peers store into to 0 when its launch begins.
void clear_own_words(WorldRecording& world);
// ... or after each wait.
void reset_words_after_wait(WorldRecording& world);

// Barriers among ranks for the peers job, job + jobs, … in place of the contiguous ones.
void stride_targets(WorldRecording& world, const Plan& plan);
// Jobs of a rank meet behind every barrier among ranks: once for each of their targets.
void meet_once_per_target(WorldRecording& world, const Plan& plan);
// Jobs of a rank meet by barrier words where there was a sync_all.
void meet_by_words(WorldRecording& world, const Plan& plan);

// Job 1 posts the data for rank 1 and job 0 tells it, behind a transfer of its own.
void notify_on_other_queue(WorldRecording& world, const Plan& plan);

// Own rows beside the windows' parts, by launch parity, without the fence at the start.
void alternate_windows(WorldRecording& world, const Plan& plan, int launch);

// Every job also reads the rows that it just posted.
void read_posted_rows(WorldRecording& world, const Plan& plan);

// Rank 1 stores into a part of rank 0's window that is not in use; in the round after that ranks 1
// and 2 add to it.
void add_from_two_ranks(WorldRecording& world, const Plan& plan);

}  // namespace tandem::check
