"""`tmemsim draw` paints each word in the state that the trace of the run gives it.

    draw_test.py TMEMSIM SOURCE_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile

from run import Run, Wrong, check

STATES = ("none", "fresh", "valid", "read", "write", "both")


def rectangles(svg):
    """Filled boxes by plane, left plane first: (state, x, y, width, height)."""
    found = [(state, *map(float, numbers)) for state, *numbers in
             re.findall(r'<rect class="(%s)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>' % "|".join(STATES), svg)]
    titles = [float(x) for x in re.findall(r'<text class="ink" x="([\d.]+)" y="[\d.]+" font-weight="600">', svg)]
    check(len(titles) == 2, "two planes have titles:", titles)
    return [box for box in found if box[1] < titles[1]], [box for box in found if box[1] >= titles[1]]


def state_at(boxes, columns, rows, column, row):
    """State of the word in the grid that the boxes cover."""
    left, top = min(b[1] for b in boxes), min(b[2] for b in boxes)
    right, bottom = max(b[1] + b[3] for b in boxes), max(b[2] + b[4] for b in boxes)
    x, y = left + (right - left) * (column + 0.5) / columns, top + (bottom - top) * (row + 0.5) / rows
    hits = [b[0] for b in boxes if b[1] < x < b[1] + b[3] and b[2] < y < b[2] + b[4]]
    check(len(hits) == 1, "a word stands in one box:", column, row, hits)
    return hits[0]


def word_state(written, reading, writing):
    if reading and writing:
        return "both"
    return "write" if writing else "read" if reading else "valid" if written else "fresh"


def register_state(run, position, warp, row, thread):
    """Registers are read when an operation is issued, so none is ever read in flight."""
    written, writing = False, 0
    for event in run.events[:position]:
        for extent in event.get("writes", []):
            if extent["space"] != "reg" or extent.get("warp", 0) != warp or not extent["rows"][0] <= row <= extent["rows"][1]:
                continue
            if not extent["lanes"][0] <= thread <= extent["lanes"][1]:
                continue
            issue, done = event["kind"] == "execute" and "async" in event, event["kind"] == "complete"
            writing += 1 if issue else -1 if done else 0
            written |= not issue
    return word_state(written, 0, writing)


def compare(run, step, warp):
    """The picture at a step against the events up to it; returns the states that occurred."""
    svg = subprocess.run([run.tmemsim, "draw", run.scenario, "--at", str(step), "--warp", str(warp)], check=True, capture_output=True, text=True).stdout
    cells, registers = rectangles(svg)
    position = sum(1 for event in run.events if event["step"] <= step)
    allocated = [(entry.get("base", 0), entry.get("base", 0) + entry["columns"]) for event in run.events[:position] for entry in event.get("allocations", [])]
    first, end = (min(a for a, _ in allocated), max(b for _, b in allocated)) if allocated else (0, 32)
    seen = set()
    for lane in range(0, 128, 5):
        for column in sorted({first, first + 1, first + 3, first + 4, (first + end) // 2, end - 1}):
            expected = run.cell(position, 0, lane, column)
            state = word_state(expected["writer"] >= 0, expected["reading"], expected["writing"]) if expected["allocated"] else "none"
            shown = state_at(cells, end - first, 128, column - first, lane)
            check(shown == state, f"step {step}: lane {lane}, column {column} is {state}, drawn as {shown}")
            seen.add(state)
    rows = run.header["register_rows"]
    for thread in (0, 13, 31):
        for row in range(rows):
            state, shown = register_state(run, position, warp, row, thread), state_at(registers, rows, 32, row, thread)
            check(shown == state, f"step {step}: thread {thread}, row {row} is {state}, drawn as {shown}")
            seen.add(state)
    return seen


def refused(tmemsim, arguments, words):
    ran = subprocess.run([tmemsim, "draw", *arguments], capture_output=True, text=True)
    check(ran.returncode == 2 and words in ran.stderr and not ran.stdout, arguments, "should be refused with", words, "but", ran)


def main():
    tmemsim, source = sys.argv[1:3]
    scenarios = os.path.join(source, "scenarios")
    round_trip = os.path.join(scenarios, "seeds/tmem_roundtrip_f16.yaml")
    try:
        with tempfile.TemporaryDirectory() as folder:
            seen = set()
            for path in (round_trip, os.path.join(scenarios, "verdicts/raw-st.yaml")):
                run = Run(tmemsim, path, folder, page=False)
                last = run.events[-1]["step"]
                warps = run.header["launch"]["warps"]
                for step in sorted({0, 1, last, *range(0, last + 1, max(1, last // 9))}):
                    seen |= compare(run, step, step % warps)
            check(seen == set(STATES), "every state occurs:", seen)
            refused(tmemsim, [round_trip, "--at", "100000"], "the run ends at step")
            refused(tmemsim, [round_trip, "--at", "10", "--warp", "4"], "there is no warp 4")
            refused(tmemsim, [round_trip, "--at", "10", "--cta", "1"], "there is no CTA 1")
            refused(tmemsim, [round_trip, "--at", "-1"], "--at")
            refused(tmemsim, [round_trip], "--at")
    except (Wrong, subprocess.CalledProcessError) as wrong:
        print("FAILED:", wrong)
        return 1
    print("pictures show what the trace says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
