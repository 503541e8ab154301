"""The page of `tmemsim trace --format html` in a real browser.

    viewer_test.py TMEMSIM SOURCE_FOLDER [--unopened]

What the page shows is compared with `trace --format jsonl` of the same run, replayed here by brute force. Without a Chromium the test
is skipped (exit 77). TMEMSIM_SCREENSHOTS=FOLDER keeps pictures of the page. --unopened: pages are written, and no browser opens them;
for builds that watch the writing.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

from browser import Browser, Failed, find_chromium
from run import Run, Wrong, check

SKIPPED = 77

ODD_NAMES = """tmemsim: 1
scenario: odd_names
doc: "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'> & \\u2028 \\"quoted\\" <!-- -->"
target: sm_100a
launch: {warps: 4, held_columns: 32}
buffers:
  A:    {space: global, dtype: f16, shape: [128, 8], init: {iota: {start: 1, step: 1}}}
  slot: {space: shared, dtype: u32, shape: [1]}
  acc:  {space: tmem, dtype: f16, shape: [128, 8], base: slot, layout: "S[(128,8):(1@TLane,1@TCol)]"}
  there: {space: local, dtype: f16, shape: [128, 8], layout: "S[(128,8):(1@tid_in_wg,1)]"}
program:
  - {at: warp 0, do: tcgen05.alloc, slot: slot, cols: 32}  # </script> in the source
  - {at: cta, do: barrier}
  - {at: warpgroup 0, do: copy, dst: there, src: A}
  - {at: warpgroup 0, do: copy_async, dst: acc, src: there}
  - {at: warpgroup 0, do: tcgen05.wait.st}
  - {at: cta, do: barrier}
  - {at: warp 0, do: tcgen05.dealloc, slot: slot, cols: 32}
"""

LONG = """tmemsim: 1
scenario: long_run
doc: Four warps store, load and compare, over and over.
target: sm_100a
launch: {warps: 4}
buffers:
  slot: {space: shared, dtype: u32, shape: [1]}
  acc:  {space: tmem, dtype: u32, shape: [128, 64], base: slot, layout: "S[(128,64):(1@TLane,1@TCol)]"}
  there: {space: local, dtype: u32, shape: [8]}
  back:  {space: local, dtype: u32, shape: [8]}
program:
  - {at: warp 0, do: tcgen05.alloc, slot: slot, cols: 64}
  - {at: cta, do: barrier}
  - {for: i, in: REPEAT, body: [
      {at: cta, do: mov, dst: "there.r[0]", a: i * 1000 + tid},
      {at: cta, do: mov, dst: "there.r[7]", a: i},
      {at: cta, do: tcgen05.st, shape: 32x32b, num: 8, dst: {base: "word(slot, 0) + i % 8 * 8", lane: warp * 32}, src: "there.r[0:8]"},
      {at: cta, do: tcgen05.wait.st},
      {at: cta, do: tcgen05.ld, shape: 32x32b, num: 8, dst: "back.r[0:8]", src: {base: "word(slot, 0) + i % 8 * 8", lane: warp * 32}},
      {at: cta, do: tcgen05.wait.ld}]}
  - {at: cta, do: barrier}
  - {at: warp 0, do: tcgen05.dealloc, slot: slot, cols: 64}
"""


def go_to(browser, position):
    browser.run(f"tmemsim.goTo({position})")


def click_cell(browser, lane, column):
    """Clicks the middle of a cell of the map with the mouse."""
    x, y = browser.run(f"""(() => {{
        const grid = tmemsim.tmem.grid, box = grid.canvas.getBoundingClientRect();
        grid.reveal({lane}, {column});
        grid.draw();
        return [box.x + grid.x({column}) + grid.cell.width / 2, box.y + grid.y({lane}) + grid.cell.height / 2];
    }})()""")
    browser.click(x, y)


def text_of(browser, selector):
    return browser.run(f"(document.querySelector({json.dumps(selector)}) || {{}}).textContent")


# ---- the tests ----
def test_steps(browser, run):
    """Keys and buttons step through the very events of the trace."""
    go_to(browser, 0)
    browser.run("document.activeElement.blur()")
    first = run.events[:25]
    for event in first:
        browser.press("ArrowRight")
        shown = text_of(browser, "#now")
        check(run.op(event) in shown and f"warp {event.get('warp', 0)}" in shown, "event", event["seq"], "is shown as", shown)
    browser.press("ArrowLeft")
    check(browser.run("tmemsim.position") == len(first) - 1, "ArrowLeft goes back one event")
    browser.press("End")
    check(browser.run("tmemsim.position") == len(run.events), "End goes to the end")
    browser.press("Home")
    check(browser.run("tmemsim.position") == 0, "Home goes to the start")
    browser.run("document.getElementById('next').click()")
    check(browser.run("tmemsim.position") == 1, "the button steps")
    browser.run("(() => { const s = document.getElementById('slider'); s.value = 7; s.dispatchEvent(new Event('input')); })()")
    check(browser.run("tmemsim.position") == 7, "the slider moves")
    browser.press(" ", code="Space")
    until = time.monotonic() + 30
    while browser.run("tmemsim.position") == 7 and time.monotonic() < until:
        time.sleep(0.1)
    browser.press(" ", code="Space")
    played = browser.run("tmemsim.position")
    check(played > 7, "play moves on")
    time.sleep(0.4)
    check(browser.run("tmemsim.position") == played, "play stops")


def test_program(browser, run):
    """The statement of the present event is marked, with the warp; a click on a statement goes to its next execution."""
    executed = [event for event in run.events if event["kind"] == "execute"]
    for event in executed[:: max(1, len(executed) // 8)]:
        go_to(browser, event["seq"] + 1)
        statement = next(s for s in run.header["statements"] if s["id"] == event["stmt"])
        shown = text_of(browser, "#program .stmt.now")
        check(shown is not None and statement["text"] in shown, statement["text"], "is shown as", shown)
        check("w" in (text_of(browser, "#program .stmt.now .mark.acting") or ""), "the acting warp is marked")
    target = executed[-1]
    go_to(browser, 0)
    browser.run(f"tmemsim.program.rows.get({target['stmt']}).click()")
    first = next(event for event in run.events if event.get("stmt") == target["stmt"])
    check(browser.run("tmemsim.position") == first["seq"] + 1, "a click on a statement goes to its next execution")


def test_cells(browser, run):
    """A clicked cell shows the owner and the writer that the simulator says."""
    touched = sorted({(lane, column) for event in run.events for extent in event.get("writes", []) if extent["space"] == "tmem"
                      for lane in (extent["lanes"][0], extent["lanes"][1]) for column in extent["columns"]})
    check(touched, "the scenario writes cells")
    chance = random.Random(8)
    written = owners = 0
    freed = next((event["seq"] for event in run.events if any(not entry.get("live") for entry in event.get("allocations", []))), len(run.events))
    for number, (lane, column) in enumerate(chance.sample(touched, min(8, len(touched)))):
        position = freed if number < 2 else chance.randrange(1, len(run.events) + 1)
        expected = run.cell(position, 0, lane, column)
        go_to(browser, position)
        click_cell(browser, lane, column)
        title = text_of(browser, "#place-title")
        check(title == f"Cell lane {lane}, column {column}", "clicked", (lane, column), "shown", title)
        shown = browser.run(f"tmemsim.state.word('tmem 0', {column * 128 + lane})")
        check(shown["writer"] == expected["writer"], "writer of", (lane, column), "at", position, shown, expected)
        check((shown["reading"], shown["writing"]) == (expected["reading"], expected["writing"]), "in flight", shown, expected)
        if expected["value"] is not None:
            check(shown["value"] == expected["value"], "value", shown, expected)
        by = text_of(browser, "#place-writer")
        if expected["writer"] < 0:
            check(by is None, "nobody has written, shown:", by)
            continue
        written += 1
        event = run.events[expected["writer"]]
        check(f"warp {event.get('warp', 0)}" in by and f"({event['seq']})" in by, "written by", by, event)
        owners += check_owner(browser, run, lane, column)
    check(written, "some of the cells had been written")
    if any(buffer["space"] == "tmem" for buffer in run.header["buffers"]):
        check(owners, "some of the cells belonged to a buffer")


def check_owner(browser, run, lane, column):
    """Elements that the page names for the cell live there, says `layout eval`."""
    shown = browser.run("""tmemsim.inhabitantsOf(tmemsim.place).map(({buffer, elements}) => ({name: buffer.name, elements,
        base: tmemsim.tmem.placed.find((entry) => entry.buffer === buffer).first}))""")
    for entry in shown:
        buffer = next(b for b in run.header["buffers"] if b["name"] == entry["name"])
        check(entry["elements"], "the buffer", entry["name"], "has elements in the cell")
        for element in entry["elements"]:
            index = []
            for extent in reversed(buffer["shape"]):
                index.insert(0, element % extent)
                element //= extent
            there = run.place_of(buffer, index)
            check(there == (lane, column - entry["base"]), buffer["name"], index, "lives at", there, "shown at", (lane, column))
    return len(shown)


def test_history(browser, run):
    """The history of a cell names every event that touches it, and its lines go there."""
    writes = [event for event in run.events if event["kind"] == "complete" and any(e["space"] == "tmem" for e in event.get("writes", []))]
    event = writes[0]
    extent = next(e for e in event["writes"] if e["space"] == "tmem")
    go_to(browser, len(run.events))
    browser.run("tmemsim.zoomToUsed()")
    click_cell(browser, extent["lanes"][0], extent["columns"][0])
    lane, column = extent["lanes"][0], extent["columns"][0]

    def touches(other):
        inside = any(e["space"] == "tmem" and e["lanes"][0] <= lane <= e["lanes"][1] and e["columns"][0] <= column <= e["columns"][1]
                     for e in other.get("reads", []) + other.get("writes", []))
        return inside or any(a.get("base", 0) <= column < a.get("base", 0) + a["columns"] for a in other.get("allocations", []))

    expected = [other["seq"] for other in run.events if touches(other)]
    shown = browser.run("[...document.querySelectorAll('#place-history .when')].map((when) => Number(when.textContent))")
    check(shown == expected[-len(shown):] and len(shown) == min(300, len(expected)), "history", shown, expected)
    browser.run("document.querySelector('#place-history .row').click()")
    check(browser.run("tmemsim.position") == shown[0] + 1, "a line of the history goes to its event")
    browser.press("Backspace")
    check(browser.run("tmemsim.position") == len(run.events), "Backspace goes back")


def test_findings(browser, run):
    """Findings are listed with their rule; the page goes to the instruction."""
    check(run.findings, "the scenario has findings")
    go_to(browser, 0)
    browser.run("document.getElementById('verdict').click()")
    chosen = browser.run("tmemsim.finding.number")
    finding = run.findings[chosen]
    card = text_of(browser, ".finding.chosen")
    for part in (finding["verdict"], finding["message"], finding["rule"], finding["fix"]):
        check(part in card, part, "is missing in", card)
    check(browser.run("tmemsim.position") == finding["at"]["event"] + 1, "the page goes to the finding's instruction")
    check(run.op(run.events[finding["at"]["event"]]) == finding["at"]["op"], "it is the finding's instruction")
    if "other" in finding and "event" in finding["other"]:
        browser.run("[...document.querySelectorAll('.finding.chosen .link')].find((link) => link.textContent.startsWith('other')).click()")
        check(browser.run("tmemsim.position") == finding["other"]["event"] + 1, "and to the other one")


def test_views(browser, run):
    """Every colouring, tab and theme draws; the wheel zooms; registers can be clicked."""
    go_to(browser, len(run.events) // 2)
    for tab in ("reg", "shared", "global", "barriers"):
        browser.run(f"document.querySelector('#place-tabs [data-tab={tab}]').click()")
        for key in "1234":
            browser.press(key)
    for tab in ("event", "place", "findings"):
        browser.run(f"document.querySelector('#side-tabs [data-tab={tab}]').click()")
    browser.press("1")
    pixels = {}
    for theme in ("light", "dark"):
        browser.press("t")
        pixels[theme] = browser.run("document.getElementById('tmem').toDataURL().length + getComputedStyle(document.body).backgroundColor")
    check(pixels["light"] != pixels["dark"], "the themes differ")
    box = browser.run("(({x, y, width, height}) => [x, y, width, height])(document.getElementById('tmem').getBoundingClientRect())")
    before = browser.run("tmemsim.tmem.grid.cell.width")
    browser.wheel(box[0] + box[2] / 2, box[1] + box[3] / 2, -300)
    check(browser.run("new Promise((done) => setTimeout(() => done(tmemsim.tmem.grid.cell.width), 200))") > before, "the wheel zooms")
    browser.move(box[0] + box[2] / 2, box[1] + box[3] / 2)
    check("lane" in (text_of(browser, "#tip") or ""), "the cell under the mouse is described")
    browser.press("0")
    browser.run("document.querySelector('#place-tabs [data-tab=reg]').click()")
    x, y = browser.run("""(() => { const g = tmemsim.places.grid, box = g.canvas.getBoundingClientRect();
        return [box.x + g.x(0) + g.cell.width / 2, box.y + g.y(3) + g.cell.height / 2]; })()""")
    browser.click(x, y)
    check("thread 3, row 0" in text_of(browser, "#place-title"), "a register can be clicked")
    browser.press("ArrowDown", modifiers=1)
    check("thread 4, row 0" in text_of(browser, "#place-title"), "Alt + arrows move the selection")


def test_keyframes(browser, run):
    """Jumping gives the very state that replaying from the start gives."""
    differing = browser.run("""(async () => {
        const State = tmemsim.state.constructor, {trace} = tmemsim, count = trace.events.length;
        const fresh = new State(trace);
        const picture = (state) => JSON.stringify([...state.spaces].sort().map(([key, pages]) => [key, pages.map((page) =>
            page && ['value', 'writer', 'written', 'reading', 'writing'].map((field) => page[field].reduce((sum, word, at) => (sum * 31 + word * (at + 1)) % 1000000007, 7)))]))
            + JSON.stringify([...state.barriers].sort()) + JSON.stringify([...state.columns].map(([sm, columns]) => [...columns]));
        tmemsim.goTo(count);
        const edges = new Set(tmemsim.replay.keyframes.slice(1, 9).map((kept) => kept.position - 1));  // the last ones before a keyframe
        const wanted = [];
        for (let position = 0; position <= count; ++position) {
            if (edges.has(position) || position % Math.max(1, Math.floor(count / 12)) === 0) wanted.push([position, picture(fresh)]);
            if (position < count) fresh.apply(trace.events[position]);
        }
        const order = wanted.map((_, k) => (wanted.length - k) * 5 % wanted.length).concat(wanted.map((_, k) => k));
        const wrong = [];
        for (const k of [...order, ...order.reverse()]) {
            const [position, expected] = wanted[k];
            tmemsim.goTo(position);
            if (picture(tmemsim.state) !== expected) wrong.push(position);
        }
        return wrong;
    })()""")
    check(not differing, "states differ at", differing)


def test_odd_names(browser, run):
    """Names and texts of the scenario are text."""
    check(browser.run("window.broken") is None, "markup of the scenario has run")
    check(text_of(browser, "#doc") == run.header["doc"], "the doc is shown as", text_of(browser, "#doc"))
    check(browser.run("document.querySelectorAll('img').length") == 0, "markup of the scenario has become elements")


def test_speed(browser, run):
    """A step among 20,000 events takes less than 50 ms, drawing included.

    What counts is the time in which the page's thread works: how many others share the machine says nothing about the page.
    """
    check(len(run.events) >= 20000, "only", len(run.events), "events")
    browser.run("new Promise((done) => { const look = () => tmemsim.replay.reached >= tmemsim.trace.events.length ? done() : setTimeout(look, 50); look(); })")
    browser.call("Performance.enable", timeDomain="threadTicks")
    browser.run("tmemsim.zoomToAll()")
    many, count, told = 100, len(run.events), []
    for name, position in (("forward", "9000 + k"), ("back", "15000 - k"), ("anywhere", f"(k * 7919) % {count}")):
        before = working_seconds(browser)
        times = browser.run(f"""(async () => {{
            const times = [];
            for (let k = 0; k < {many}; ++k) {{
                const begin = performance.now();
                tmemsim.goTo({position});
                document.body.offsetHeight;
                times.push(performance.now() - begin);
                await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)));
            }}
            return times.sort((a, b) => a - b);
        }})()""")
        work = 1000 * (working_seconds(browser) - before) / many
        told.append(f"{name} {work:.1f} (by the clock {times[many // 2]:.1f}, 95 % {times[many * 95 // 100]:.1f})")
        check(work < 50, "a step", name, "takes", work, "ms")
    print(f"   milliseconds a step, of {count} events: " + "; ".join(told))


def working_seconds(browser):
    return next(metric["value"] for metric in browser.call("Performance.getMetrics")["metrics"] if metric["name"] == "TaskDuration")


def test_every_view(browser, run):
    """Whatever happened in a run, every view of it draws."""
    browser.run("""(() => {
        const count = tmemsim.trace.events.length;
        for (const tab of ["reg", "shared", "global", "barriers"]) {
            tmemsim.places.show(tab);
            for (const mode of ["state", "buffer", "warp", "value"]) {
                tmemsim.setColourMode(mode);
                for (let part = 0; part <= 4; ++part) tmemsim.goTo(Math.round(count * part / 4));
            }
        }
        for (const finding of tmemsim.trace.findings) tmemsim.goToFinding(finding);
        for (const tab of ["event", "place", "findings"]) tmemsim.side.show(tab);
        tmemsim.select({key: "tmem 0", word: 5});
    })()""")
    check(browser.run("tmemsim.trace.events.length") == len(run.events), "the page has all events")
    check(browser.run("tmemsim.trace.findings.length") == len(run.findings), "the page has all findings")


def traced(tmemsim, scenarios, folder):
    """Name and run of each lesson and each wrong program, one after the other."""
    names = sorted(os.path.join(part, name) for part in ("lessons", "verdicts", "bugs") if os.path.isdir(os.path.join(scenarios, part))
                   for name in os.listdir(os.path.join(scenarios, part)) if name.endswith(".yaml") and ".fixed" not in name)
    count = 0
    for name in names:
        try:
            run = Run(tmemsim, os.path.join(scenarios, name), folder, most=300)
        except subprocess.CalledProcessError as failed:
            check(failed.returncode in (2, 4), name, "cannot be traced: exit status", failed.returncode)
            continue  # several runs in one file, or nothing that can be lowered: `trace` says why
        count += 1
        yield name, run
    check(count > len(names) // 2, "only", count, "of", len(names), "scenarios could be traced")


def test_scenarios(program, tmemsim, scenarios, folder):
    """The pages of the lessons and of the wrong programs."""
    with Browser(program) as browser:
        for name, run in traced(tmemsim, scenarios, folder):
            browser.open(run.url)
            try:
                test_every_view(browser, run)
            except (Wrong, Failed) as wrong:
                raise Wrong(f"{name}: {wrong}") from None
            check(not browser.complaints, name, "the browser complains:", browser.complaints)


def picture(browser, name):
    folder = os.environ.get("TMEMSIM_SCREENSHOTS")
    if folder:
        os.makedirs(folder, exist_ok=True)
        browser.screenshot(os.path.join(folder, name + ".png"))


def visit(program, run, tests, theme="light", screenshots=()):
    """Opens the run's page and does the tests; no complaint of the browser is tolerated, nor a request."""
    with Browser(program) as browser:
        browser.theme(theme)
        browser.open(run.url)
        for name, script in screenshots:
            browser.run(script)
            time.sleep(0.3)
            picture(browser, name)
        for test in tests:
            try:
                test(browser, run)
            except (Wrong, Failed) as wrong:
                raise Wrong(f"{test.__name__} ({os.path.basename(run.scenario)}): {wrong}") from None
            check(not browser.complaints, test.__name__, "the browser complains:", browser.complaints)
        others = [url for url in browser.requests if not url.startswith(("file://" + run.page, "data:", "about:"))]
        check(not others, "the page asks for", others)


def write_all(tmemsim, scenarios, folder):
    try:
        for _, run in traced(tmemsim, scenarios, folder):
            check(os.path.getsize(run.page) > 0, run.scenario, "has a page")
    except Wrong as wrong:
        print("FAILED:", wrong)
        return 1
    return 0


def main():
    tmemsim, source = sys.argv[1:3]
    scenarios = os.path.join(source, "scenarios")
    if "--unopened" in sys.argv[3:]:
        with tempfile.TemporaryDirectory() as folder:
            return write_all(tmemsim, scenarios, folder)
    program = find_chromium()
    if not program:
        print("skipped: no chromium (Debian and Ubuntu: apt-get install chromium)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        def written(name, text):
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write(text)
            return path

        try:
            common = [test_steps, test_program, test_cells, test_history, test_views, test_keyframes]
            visit(program, Run(tmemsim, os.path.join(scenarios, "seeds/tmem_roundtrip_f16.yaml"), folder), common, "light",
                  [("light", "tmemsim.goTo(40)"), ("start", "tmemsim.goTo(0)")])
            visit(program, Run(tmemsim, os.path.join(scenarios, "lessons/cosine_matrix.yaml"), folder), common, "dark",
                  [("dark", "tmemsim.setColourMode('value'); tmemsim.goTo(60)")])
            visit(program, Run(tmemsim, os.path.join(scenarios, "verdicts/raw-st.yaml"), folder), [test_steps, test_findings, test_cells], "light", [("findings", "0")])
            visit(program, Run(tmemsim, written("odd_names.yaml", ODD_NAMES), folder), [test_odd_names, test_steps, test_cells])
            visit(program, Run(tmemsim, written("long_run.yaml", LONG.replace("REPEAT", "640")), folder), [test_speed, test_cells, test_keyframes], "dark",
                  [("long", "tmemsim.goTo(12345)")])
            test_scenarios(program, tmemsim, scenarios, folder)
        except (Wrong, Failed, subprocess.CalledProcessError) as wrong:
            print("FAILED:", wrong)
            return 1
    print("the page shows what the simulator says")
    return 0


if __name__ == "__main__":
    sys.exit(main())
