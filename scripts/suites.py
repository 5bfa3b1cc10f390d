#!/usr/bin/env python3
"""Runs the suites of tests that cargo built, as many at once as there are cores, and says where time went.

Standard input is what `cargo test --no-run --message-format=json` prints. A suite is one program; it runs in its package's
folder with the variables that tests of this workspace ask for. What it prints comes in one piece when it has ended. A
suite that takes longer than the limit is ended and has failed. Building and documentation tests are cargo's.
"""

import argparse
import collections
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

Suite = collections.namedtuple("Suite", "package name program folder")
Ended = collections.namedtuple("Ended", "suite seconds cpu_seconds why")


def suites(lines):
    """The test programs among cargo's messages, each once."""
    found = {}
    for line in lines:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"] or not message["executable"]:
            continue
        folder = Path(message["manifest_path"]).parent
        name = message["target"]["name"]
        kind = message["target"]["kind"][0]
        name = name if kind == "test" else f"{name} ({kind})"
        # A package lies in a folder of its name, or of a part of it.
        found[message["executable"]] = Suite(folder.name, name, message["executable"], folder)
    return list(found.values())


RUNNING = set()  # the groups of processes of suites that have not ended


def kill(group):
    """Ends what is left of a suite's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def run(suite, arguments, limit_seconds, said):
    """Runs a suite to its end, and prints what it printed; `why` is empty where it passed."""
    environment = dict(os.environ, CARGO_MANIFEST_DIR=str(suite.folder))
    environment.setdefault("CARGO", "cargo")
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        # A group of its own, so that what it started ends with it.
        process = subprocess.Popen(
            [suite.program, *arguments],
            cwd=suite.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        RUNNING.add(process.pid)
        timer = threading.Timer(limit_seconds, kill, [process.pid])
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        kill(process.pid)
        RUNNING.discard(process.pid)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        why = ""
        if process.returncode != 0:
            is_late = seconds >= limit_seconds and process.returncode == -signal.SIGKILL
            why = f"took longer than {limit_seconds:.0f} s" if is_late else f"ended with {process.returncode}"
        output.seek(0)
        with said:
            print(f"\n== {suite.package}: {suite.name}, {seconds:.1f} s{', ' + why if why else ''}", flush=True)
            sys.stdout.buffer.write(output.read())
            sys.stdout.buffer.flush()
    return Ended(suite, seconds, usage.ru_utime + usage.ru_stime, why)


def stop(number, _frame):
    """Ends all suites with this program."""
    for group in list(RUNNING):
        kill(group)
    os._exit(128 + number)


def table(ended, jobs):
    """What each package's suites took, the most first; a share is of the time that all took together."""
    packages = collections.defaultdict(list)
    for one in ended:
        packages[one.suite.package].append(one)
    rows = [
        (package, len(of), sum(one.seconds for one in of) / jobs, sum(one.cpu_seconds for one in of))
        for package, of in packages.items()
    ]
    print(f"\n{'package':16} {'suites':>6} {'share (s)':>10} {'CPU (s)':>10}   longest")
    for package, count, share, cpu in sorted(rows, key=lambda row: -row[2]):
        longest = sorted(packages[package], key=lambda one: -one.seconds)[:3]
        words = ", ".join(f"{one.suite.name} {one.seconds:.0f}" for one in longest)
        print(f"{package:16} {count:6} {share:10.1f} {cpu:10.1f}   {words}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="suites at once")
    parser.add_argument("--limit", type=float, required=True, help="seconds that a suite may take")
    parser.add_argument("arguments", nargs="*", help="what suites are told, behind --")
    asked = parser.parse_args()
    found = suites(sys.stdin)
    said = threading.Lock()
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    began = time.monotonic()
    with ThreadPoolExecutor(asked.jobs) as threads:
        ended = list(threads.map(lambda suite: run(suite, asked.arguments, asked.limit, said), found))
    table(ended, asked.jobs)
    print(f"\n{len(ended)} suites in {time.monotonic() - began:.0f} s, {asked.jobs} at once")
    failed = [one for one in ended if one.why]
    for one in failed:
        print(f"error: {one.suite.package}: {one.suite.name} {one.why}")
    return 1 if failed or not ended else 0


if __name__ == "__main__":
    sys.exit(main())
