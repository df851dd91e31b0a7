// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tandem::host {

// The state letter of a process in /proc: 'T' or 't' stopped, 'Z' ended but not reaped; 0 gone.
char process_state(int pid);

inline bool is_stopped(char state) { return state == 'T' || state == 't'; }

}  // namespace tandem::host
