// SPDX-License-Identifier: Apache-2.0
#include "sim/op.h"

#include "base/check.h"

namespace tandem::sim {

Lane lane_of(Pipe pipe) {
  switch (pipe) {
    case Pipe::mte1:
      return Lane::mte1;
    case Pipe::mte2:
      return Lane::mte2;
    case Pipe::mte3:
      return Lane::mte3;
    case Pipe::m:
      return Lane::m;
    case Pipe::v:
      return Lane::v;
    case Pipe::fix:
      return Lane::fix;
    case Pipe::all:
      break;
  }
  TANDEM_CHECK(false, "all pipes are not one lane");
}

std::string_view to_string(Lane lane) {
  switch (lane) {
    case Lane::scalar:
      return "S";
    case Lane::mte1:
      return "MTE1";
    case Lane::mte2:
      return "MTE2";
    case Lane::mte3:
      return "MTE3";
    case Lane::m:
      return "M";
    case Lane::v:
      return "V";
    case Lane::fix:
      return "FIX";
  }
  return "?";
}

std::string_view to_string(OpKind kind) {
  switch (kind) {
    case OpKind::load_l1:
    case OpKind::load_ub:
      return "load";
    case OpKind::stage_l0:
    case OpKind::multiply:
      return "matmul";
    case OpKind::store_c:
    case OpKind::store_ub:
      return "store";
    case OpKind::accumulate:
      return "accumulate";
    case OpKind::convert:
      return "convert";
    case OpKind::set_flag:
      return "set_flag";
    case OpKind::set_sync:
      return "sync_all";
    case OpKind::gate:
      return "gate";
    case OpKind::set_event:
      return "set_event";
    case OpKind::wait_event:
      return "wait_event";
    case OpKind::pipe_barrier:
      return "pipe_barrier";
    case OpKind::write:
      return "write_nbi";
    case OpKind::read:
      return "read_nbi";
    case OpKind::write_notify:
      return "write_notify_nbi";
    case OpKind::write_reduce:
      return "write_reduce_nbi";
    case OpKind::write_value:
      return "write_value_nbi";
    case OpKind::fill_window:
      return "fill_window";
    case OpKind::fetch_add:
      return "fetch_add";
  }
  return "?";
}

}  // namespace tandem::sim
