#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much of the communication operators hide over a link: a table, measured by `tandem bench` on
two hosts that are network namespaces of this machine. Needs root, ip, tc and unshare.

Usage: overlap.py TANDEM [--rate 1gbit] [--compute sleep] [--tiles 4,8,16] [--transports tcp,ucx]
                         [--launches 8] [--operators all] [--mib 16] [--gflops 100]
                         [-- OPTIONS OF BENCH…]

A row: what one rank's products and transfers take alone, what the fused operator takes, the masking
degree (compute + comm − fused) / min(compute, comm), what the order of the plan's rounds allows of
it, their ratio, and the fused time over the longer half. `--compute sleep` parks products for as
long as the transfers take, as an accelerator would; real ones have a shape that takes as long at
--gflops of a rank.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from namespaces import Hosts, NotPermitted  # noqa: E402

OPERATORS = ("all-to-all-matmul", "all-gather-matmul", "matmul-all-gather",
             "matmul-reduce-scatter")
BITS_PER_S = {"mbit": 1e6, "gbit": 1e9}
RANKS = 2
HEAD = ("| operator | transport | T | compute ms | comm ms | fused ms | degree | ideal | of it |"
        " / longer |")


def bits_per_s(rate):
    number = rate.rstrip("abcdefghijklmnopqrstuvwxyz")
    return float(number) * BITS_PER_S[rate[len(number):]]


def shape(operator, mib, flops):
    """Two ranks that send each other so many MiB and do about so many floating-point operations."""
    sent = int(mib * 2**20)
    m = 4096
    if operator in ("all-to-all-matmul", "all-gather-matmul"):
        k = sent // m  # codes, one byte each
        work = 2 * 2 * m * k  # of a column of C: both ranks' rows, or both ranks' k
        return {"-m": m, "-n": max(16, round(flops / work)),
                "-k": 2 * k if operator == "all-to-all-matmul" else k}
    n = sent // m  # a rank's columns of C; of reduce-scatter, half of the rows are sent
    n *= 1 if operator == "matmul-reduce-scatter" else RANKS
    columns = n if operator == "matmul-reduce-scatter" else n // RANKS
    if operator == "matmul-all-gather":
        n, columns = n // 2, columns // 2  # two bytes an element
    return {"-m": m, "-n": n, "-k": max(32, round(flops / (2 * m * columns)))}


def measure(hosts, program, words, timeout=600):
    """The report of rank 0."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bench.json")
        command = [program, "bench", *map(str, words), "--json", path]
        ranks = [hosts.start_rank(rank, rank, RANKS, command, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT) for rank in range(RANKS)]
        said = [process.communicate(timeout=timeout)[0] for process in ranks]
        codes = [process.returncode for process in ranks]
        if any(codes):
            raise RuntimeError(f"{' '.join(command)}: exit codes {codes}\n" + "".join(said))
        with open(path, encoding="utf-8") as file:
            return json.load(file)["cases"][0]


def seconds_of(case):
    return {arm["arm"]: arm["seconds"] for arm in case["arms"]}


def row(case):
    seconds = seconds_of(case)
    ideal = case["ideal_masking_degree"]
    share = case["masking_degree"] / ideal if ideal > 0 else 1
    times = " | ".join(f"{1e3 * seconds[arm]:.1f}" for arm in ("compute", "comm", "fused"))
    return (f"| {case['operator']} | {case['transport']} | {case['rounds']} | {times} "
            f"| {case['masking_degree']:.2f} | {ideal:.2f} | {share:.2f} "
            f"| {case['makespan_ratio']:.2f} |")


def parse(arguments):
    extra = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, extra = arguments[:at], arguments[at + 1:]
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tandem")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--compute", choices=("sleep", "real"), default="sleep")
    parser.add_argument("--tiles", default="4,8,16", help="rounds; plan: as many as it chooses")
    parser.add_argument("--transports", default="tcp,ucx")
    parser.add_argument("--operators", default=",".join(OPERATORS))
    parser.add_argument("--launches", default="8")
    parser.add_argument("--gflops", type=float, default=100, help="of a rank's real products")
    parser.add_argument("--mib", type=float, default=16, help="from each rank to the other")
    parsed = parser.parse_args(arguments)
    if parsed.operators == "all":
        parsed.operators = ",".join(OPERATORS)
    return parsed, extra


def main(arguments):
    asked, extra = parse(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    program = os.path.realpath(asked.tandem)
    link_seconds = 1.06 * asked.mib * 2**20 * 8 / bits_per_s(asked.rate)
    # Sleeping products are checked once with real ones, which need not be long.
    flops = 1e9 * asked.gflops * link_seconds if asked.compute == "real" else 5e9
    print(f"{asked.mib:g} MiB from each rank to the other, {asked.rate}, products {asked.compute}")
    print(HEAD)
    print("|---" * HEAD.count(" | ") + "|---|")
    try:
        with Hosts(RANKS, asked.rate) as hosts:
            for operator in asked.operators.split(","):
                given = [word for item in shape(operator, asked.mib, flops).items()
                         for word in item]
                for transport in asked.transports.split(","):
                    for tiles in asked.tiles.split(","):
                        rounds = [] if tiles == "plan" else ["--tiles", tiles]
                        words = [operator, *given, "--transport", transport, *rounds, "--compute",
                                  asked.compute, "--workers", 1, "--arms",
                                 "fused,compute,comm", "--launches", asked.launches, *extra]
                        print(row(measure(hosts, program, words)), flush=True)
    except NotPermitted as error:
        print(f"overlap: {error}; run as root with CAP_SYS_ADMIN and iproute2", file=sys.stderr)
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
