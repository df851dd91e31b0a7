// SPDX-License-Identifier: Apache-2.0
#include "machine/core.h"

namespace tandem {

std::string_view to_string(Pipe pipe) {
  switch (pipe) {
    case Pipe::mte1:
      return "MTE1";
    case Pipe::mte2:
      return "MTE2";
    case Pipe::mte3:
      return "MTE3";
    case Pipe::m:
      return "M";
    case Pipe::v:
      return "V";
    case Pipe::fix:
      return "FIX";
    case Pipe::all:
      return "ALL";
  }
  return "?";
}

std::string_view to_string(EventKind kind) {
  switch (kind) {
    case EventKind::mte2_v:
      return "MTE2_V";
    case EventKind::v_mte2:
      return "V_MTE2";
    case EventKind::v_mte3:
      return "V_MTE3";
    case EventKind::mte3_v:
      return "MTE3_V";
    case EventKind::m_fix:
      return "M_FIX";
    case EventKind::fix_m:
      return "FIX_M";
    case EventKind::mte1_mte2:
      return "MTE1_MTE2";
    case EventKind::mte2_mte1:
      return "MTE2_MTE1";
  }
  return "?";
}

Pipe setter_of(EventKind kind) {
  switch (kind) {
    case EventKind::mte2_v:
    case EventKind::mte2_mte1:
      return Pipe::mte2;
    case EventKind::v_mte2:
    case EventKind::v_mte3:
      return Pipe::v;
    case EventKind::mte3_v:
      return Pipe::mte3;
    case EventKind::m_fix:
      return Pipe::m;
    case EventKind::fix_m:
      return Pipe::fix;
    case EventKind::mte1_mte2:
      return Pipe::mte1;
  }
  return Pipe::all;
}

Pipe waiter_of(EventKind kind) {
  switch (kind) {
    case EventKind::mte2_v:
    case EventKind::mte3_v:
      return Pipe::v;
    case EventKind::v_mte2:
    case EventKind::mte1_mte2:
      return Pipe::mte2;
    case EventKind::v_mte3:
      return Pipe::mte3;
    case EventKind::m_fix:
      return Pipe::fix;
    case EventKind::fix_m:
      return Pipe::m;
    case EventKind::mte2_mte1:
      return Pipe::mte1;
  }
  return Pipe::all;
}

}  // namespace tandem
