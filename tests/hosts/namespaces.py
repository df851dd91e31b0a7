#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several hosts on one machine: network namespaces with their own names, joined by a bridge.

Usage: namespaces.py HOSTS RATE COMMAND…

runs COMMAND once on each host, with TANDEM_RANK, TANDEM_SIZE and TANDEM_ROOT set. RATE limits what
a host sends, as `tc` spells it (1gbit, 100mbit), or is `none`. Exits with the largest exit code, or
with 77 and the reason where this machine does not permit it. Needs root, ip, tc and unshare; leaves
nothing behind.

Each host has its own network, host name, System V memory and /dev/shm. All share one kernel, its
processes and its processors: what this shows of time holds for links that are slower than these.
"""

import os
import signal
import subprocess
import sys

PORT = 7600
# A shaper holds what its queue has room for; 20 ms of it is a common switch.
SHAPER = ["burst", "128kb", "latency", "20ms"]
ENTER = 'mount -t tmpfs tmpfs /dev/shm && hostname "$1" && shift && exec "$@"'


class NotPermitted(Exception):
    pass


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise NotPermitted(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


class Hosts:
    def __init__(self, count, rate=None):
        self.names = [f"td{os.getpid()}h{i}" for i in range(count)]
        self.switch = f"td{os.getpid()}sw"
        self.network = f"10.77.{os.getpid() % 250}"
        self.rate = rate
        self.started = []

    def __enter__(self):
        try:
            self.make()
        except (NotPermitted, FileNotFoundError) as error:
            self.remove()
            raise NotPermitted(str(error)) from error
        return self

    def __exit__(self, *_):
        self.remove()

    def make(self):
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "br0", "up")
        for i, name in enumerate(self.names):
            run("ip", "netns", "add", name)
            run("ip", "link", "add", "eth0", "netns", name, "type", "veth",
                "peer", "name", f"p{i}", "netns", self.switch)
            run("ip", "-n", self.switch, "link", "set", f"p{i}", "master", "br0", "up")
            run("ip", "-n", name, "addr", "add", f"{self.address(i)}/24", "dev", "eth0")
            for device in ("lo", "eth0"):
                run("ip", "-n", name, "link", "set", device, "up")
            if self.rate:
                run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", "eth0", "root",
                    "tbf", "rate", self.rate, *SHAPER)
        if self.start(0, ["true"]).wait() != 0:
            raise NotPermitted("unshare: no host names or mounts of their own")

    def remove(self):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True).stdout
        for name in [*self.names, self.switch]:
            if name not in listed.split():
                continue
            pids = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True)
            for pid in pids.stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def address(self, host):
        return f"{self.network}.{host + 1}"

    def start(self, host, command, **options):
        """A process on a host; its pid is that of the command."""
        name = self.names[host]
        words = ["ip", "netns", "exec", name, "unshare", "-u", "-i", "-m",
                 "sh", "-c", ENTER, "sh", name, *command]
        process = subprocess.Popen(words, **options)
        self.started.append(process)
        return process

    def start_rank(self, host, rank, size, command, **options):
        places = {"TANDEM_RANK": str(rank), "TANDEM_SIZE": str(size),
                  "TANDEM_ROOT": f"{self.address(0)}:{PORT}"}
        return self.start(host, command, env={**os.environ, **places}, **options)

    def set_link(self, host, state):
        run("ip", "-n", self.names[host], "link", "set", "eth0", state)


def main(arguments):
    if len(arguments) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    count = int(arguments[0])
    rate = None if arguments[1] == "none" else arguments[1]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with Hosts(count, rate) as hosts:
            ranks = [hosts.start_rank(i, i, count, arguments[2:]) for i in range(count)]
            return max(abs(process.wait()) for process in ranks)
    except NotPermitted as error:
        print(f"namespaces: {error}; run as root with CAP_SYS_ADMIN and iproute2", file=sys.stderr)
        return 77


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
