"""One run of tmemsim: its page, and its trace (`--format jsonl`) as records, replayed by brute force."""
import json
import os
import re
import subprocess


class Wrong(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Wrong(" ".join(str(part) for part in what))


class Run:
    """One scenario: its page, and its trace as records."""

    def __init__(self, tmemsim, scenario, folder, most=None, page=True):
        name = os.path.splitext(os.path.basename(scenario))[0]
        self.tmemsim, self.scenario = tmemsim, scenario
        self.page = os.path.join(folder, name + ".html")
        limit = ["--max-events", str(most), "--max-steps", "20000"] if most else []
        if page:
            subprocess.run([tmemsim, "trace", scenario, "--format", "html", "-o", self.page, *limit], check=True)
        lines = subprocess.run([tmemsim, "trace", scenario, "--format", "jsonl", "--values", *limit], check=True, capture_output=True, text=True).stdout
        records = [json.loads(line) for line in lines.split("\n") if line]
        self.header = records[0]
        self.events = [record for record in records if record["record"] == "event"]
        self.findings = [record for record in records if record["record"] == "finding"]

    @property
    def url(self):
        return "file://" + self.page

    def op(self, event):
        names = {statement["id"]: statement.get("op") or statement["kind"] for statement in self.header["statements"]}
        return names.get(event.get("stmt"), event["kind"])

    # What the events up to `position` say about one cell: word by word, nothing kept.
    def cell(self, position, sm, lane, column):
        writer, value, allocated, reading, writing = -1, None, False, 0, 0
        for event in self.events[:position]:
            for entry in event.get("allocations", []):
                if entry.get("sm", 0) == sm and entry.get("base", 0) <= column < entry.get("base", 0) + entry["columns"]:
                    allocated = bool(entry.get("live"))
                    if allocated:
                        writer, value = -1, None
            for kind in ("reads", "writes"):
                for extent in event.get(kind, []):
                    if extent["space"] != "tmem" or extent.get("sm", 0) != sm:
                        continue
                    (first_lane, last_lane), (first, last) = extent["lanes"], extent["columns"]
                    if not (first_lane <= lane <= last_lane and first <= column <= last):
                        continue
                    issue, done = event["kind"] == "execute" and "async" in event, event["kind"] == "complete"
                    if issue or done:
                        by = 1 if issue else -1
                        reading += by if kind == "reads" else 0
                        writing += by if kind == "writes" else 0
                    if kind == "writes" and not issue:
                        writer = event["seq"]
                        word = (column - first) * (last_lane - first_lane + 1) + lane - first_lane
                        if "values" in extent:
                            value = int(extent["values"][8 * word:8 * word + 8], 16)
        return {"writer": writer, "value": value, "allocated": allocated, "reading": reading, "writing": writing}

    # Where tmemsim says that an element of a buffer lives: lane and column from the buffer's base.
    def place_of(self, buffer, index):
        answer = subprocess.run([self.tmemsim, "layout", "eval", buffer["layout"], "--shape", ",".join(map(str, buffer["shape"])), "--at",
                                 ",".join(map(str, index))], check=True, capture_output=True, text=True).stdout
        coordinates = {axis: int(number) for axis, number in re.findall(r"(TLane|TCol)=(-?\d+)", answer)}
        return coordinates.get("TLane", 0), coordinates.get("TCol", 0) * buffer["bits"] // 32
