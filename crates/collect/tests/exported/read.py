#!/usr/bin/env python3
"""Reads an export with the software that people use, and prints what is in it as JSON: `read.py FORMAT FILE`.

Owns what each format's reader calls things; what is expected is the test's. Floating-point numbers are printed as their
bytes, so that nothing is rounded on the way.
"""

import csv
import json
import struct
import sys


def bits(values):
    return [struct.pack("<d", float(value)).hex() for value in values]


def run(channel, first, sample_ps, rate, unit, scale, offset, raw, values, instants=None):
    return {
        "channel": channel, "first": int(first), "sample_ps": known(sample_ps),
        "rate": None if rate is None or rate != rate else float(rate), "unit": unit, "scale": bits([scale])[0],
        "offset": bits([offset])[0], "raw": bits(raw), "values": bits(values), "instants": instants,
    }


def known(instant):
    return None if instant is None or int(instant) == 2**64 - 1 else int(instant)


def gap(channel, why, first, count, begin, end):
    return {"channel": channel, "why": why, "first": int(first), "count": int(count), "from_ps": known(begin),
            "to_ps": known(end)}


def of_rows(rows):
    """Runs, gaps and frames of a table with a row for each sample and each gap."""
    runs, gaps, frames, held = [], [], {}, []

    def end():
        if held:
            one = held[0]
            raw = [row["value" if row["code"] is None else "code"] for row in held]
            runs.append(run(one["channel"], one["index"], one["sample_ps"], one["sample_rate_hz"], one["unit"],
                            one["scale"], one["offset"], raw, [row["value"] for row in held],
                            [known(row["sample_ps"]) for row in held]))
            held.clear()

    for row in rows:
        if row["row"] == "gap":
            end()
            gaps.append(gap(row["channel"], row["why"], row["index"], row["count"], row["sample_ps"], row["until_ps"]))
            continue
        if held and held[-1]["channel"] != row["channel"]:
            end()
        held.append(row)
        key = (row["channel"], row["epoch"], row["counter"])
        frames.setdefault(key, [*key, row["index"], 0, row["uncertainty_ns"], row["arrived_ns"]])[4] += 1
    end()
    return runs, gaps, list(frames.values())


def read_csv(path):
    integers = ["index", "count", "sample_ps", "until_ps", "uncertainty_ns", "epoch", "counter", "arrived_ns"]
    floats = ["code", "value", "scale", "offset", "sample_rate_hz"]
    rows, of_run = [], {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            for kind, names in ((int, integers), (float, floats)):
                row.update({name: kind(row[name]) if row[name] else None for name in names})
            if row["row"] == "run":
                of_run = {name: row[name] for name in ("unit", "scale", "offset", "sample_rate_hz", "format")}
            else:
                rows.append({**row, **of_run} if row["row"] == "sample" else row)
    return of_rows(rows)


def read_parquet(path):
    import pyarrow.parquet

    return of_rows(pyarrow.parquet.read_table(path).to_pylist())


def read_hdf5(path):
    import h5py

    runs, gaps, frames = [], [], []
    with h5py.File(path) as file:
        groups = []
        is_channel = lambda item: isinstance(item, h5py.Group) and "samples" in item
        file.visititems(lambda _, item: groups.append(item) if is_channel(item) else None)
        for group in groups:
            name, scale, offset = (group.attrs[key] for key in ("name", "scale", "offset"))
            name = name.decode() if isinstance(name, bytes) else name
            assert group.name == "/" + name, (group.name, name)
            unit = group["samples"].attrs["unit"]
            unit = unit.decode() if isinstance(unit, bytes) else unit
            for one in group["runs"][:]:
                raw = group["samples"][one["row"]:one["row"] + one["count"]]
                values = raw.astype("float64")
                if unit:
                    values = values * scale + offset
                runs.append(run(name, one["first"], one["sample_ps"], one["sample_rate_hz"], unit, scale, offset, raw,
                                values))
            assert sum(group["runs"]["count"]) == len(group["samples"])
            for one in group["gaps"][:]:
                gaps.append(gap(name, one["why"].decode(), one["first"], one["count"], one["from_ps"], one["to_ps"]))
            for one in group["frames"][:]:
                uncertainty = int(one["uncertainty_ns"])
                frames.append([name, int(one["epoch"]), int(one["counter"]), int(one["first"]), int(one["count"]),
                               None if uncertainty == 2**32 - 1 else uncertainty, int(one["arrived_ns"])])
    return runs, gaps, frames


def read_tdms(path):
    import nptdms
    import numpy

    runs, gaps = [], []
    for group in nptdms.TdmsFile.read(path, raw_timestamps=True).groups():
        if group.name.endswith(" gaps"):
            columns = [group[name][:] for name in ("why", "first", "count", "from_ps", "to_ps")]
            gaps += [gap(group.name.removesuffix(" gaps"), *row) for row in zip(*columns)]
            continue
        for channel in group.channels():
            told = channel.properties
            assert told["wf_samples"] == len(channel), (told["wf_samples"], len(channel))
            start = told.get("wf_start_time")
            if start is not None:
                start_ps = start.seconds * 10**12 + start.second_fractions * 10**12 / 2**64
                assert abs(start_ps - told["sample_ps"]) <= 1 + told["sample_ps"] * 1e-15, (start, told["sample_ps"])
            if "wf_increment" in told:
                track = channel.time_track()
                assert track[0] == 0 and numpy.isclose(track[-1], (len(channel) - 1) / told["sample_rate_hz"])
            runs.append(run(group.name, told["first_index"], told["sample_ps"], told.get("sample_rate_hz"),
                            told["unit_string"], group.properties["scale"], group.properties["offset"],
                            channel.raw_data, channel[:]))
    return runs, gaps, None


def main():
    form, path = sys.argv[1:]
    runs, gaps, frames = globals()[f"read_{form}"](path)
    json.dump({"runs": runs, "gaps": gaps, "frames": frames}, sys.stdout)


main()
