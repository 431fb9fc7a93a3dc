// Lines over time: throughput and queues.

// Lines with a colour of their own; the others are grey, and one entry of the legend together.
const COLOURS = 8;

// A chart of lines with its legend.
//
// `chart` has `name`; `units`; `series`, each with `label`, `detail`, `values` by sample, `limit`,
// a dashed line or empty, and `isInCycle`; `offset`, where in its step a sample stands; `height`;
// `least`, how high it is at least, and `zero`, the unit of nothing; and `word` and `summary`, what
// the legend shows without a cursor.
function lineChart(axis, figure, chart) {
  const lines = chart.series.map((series, n) => ({
    ...series,
    colour: chart.series.length === 1 && chart.isTotal ? "ink" : n < COLOURS ? `s${n + 1}` : "s0",
  }));
  const entries = entriesOf(lines, chart);
  const longest = lines.reduce((most, line) => Math.max(most, line.values.length), 0);
  const sampleOf = (time) => axis.sampleAt(time, longest);
  const textOf = (value) => (value === 0 ? `0 ${chart.zero}` : columnText(chart.units, value));
  const valueOf = (entry, sample) => {
    const of = sample === null ? chart.summary : (line) => line.values[sample] ?? 0;
    return textOf(entry.lines.reduce((sum, line) => sum + of(line), 0));
  };
  const view = { entries, lines, near: null, note: chart.hasLimits ? html("p", { class: "side-note" }) : null };
  const plot = html("div", { class: "plot" });
  const side = html("div", { class: "side" });
  figure.replaceChildren(plot, side);
  const frame = timeFrame(axis, plot, {
    name: chart.name,
    height: () => chart.height,
    paint: (place) => paintLines(axis, place, chart, view),
    read: (time) =>
      entries
        .filter((entry) => entry.isShown)
        .map((entry) => `${entry.label} ${valueOf(entry, sampleOf(time))}`)
        .join(", "),
    near: (event, place) => nameNearest(event, place, view, sampleOf, textOf),
  });
  legend(axis, side, {
    word: chart.word,
    entries,
    note: view.note,
    valueOf,
    sampleOf,
    onToggle: frame.draw,
    onPoint: (entry) => {
      for (const line of lines) {
        line.path?.classList.toggle("faded", entry !== null && !entry.lines.includes(line));
      }
    },
  });
}

function entriesOf(lines, chart) {
  const entries = lines.filter((line) => line.colour !== "s0").map((line) => ({ ...line, lines: [line] }));
  const grey = lines.filter((line) => line.colour === "s0");
  if (grey.length > 0) {
    const label = `sum of ${grey.length} others`;
    entries.push({ label, detail: label, colour: "s0", lines: grey });
  }
  entries.forEach((entry) => {
    entry.isShown = true;
  });
  return entries;
}

function paintLines(axis, place, chart, view) {
  const shown = view.entries.filter((entry) => entry.isShown).flatMap((entry) => entry.lines);
  const highest = shown.reduce((most, line) => line.values.reduce((a, b) => Math.max(a, b), most), 0);
  const { top, hidden } = ceiling(shown, highest || chart.least);
  const { step, values, largest } = scaleTo(top, Math.floor(chart.height / 36));
  const y = (value) => chart.height * (1 - value / largest);
  paintScale(place, chart, values, step, largest, y);
  paintLimits(axis, place, shown, y);
  if (view.note !== null) view.note.textContent = noteOnLimits(shown, hidden);
  for (const line of view.lines) line.path = null;
  // Grey below colour, the first above all.
  for (const line of [...shown].reverse()) {
    const d = linePath(axis, place, line.values, y, chart.offset);
    if (chart.isTotal)
      place.marks.append(svg("path", { class: `area ${line.colour}`, d: closed(d, chart.height) }));
    line.path = svg("path", { class: `line ${line.colour}`, d });
    line.y = y;
    place.marks.append(line.path);
  }
}

// The highest value to show: limits too, unless they lie so high that the lines would be flat.
function ceiling(lines, highest) {
  let top = highest;
  let lowestLimit = Infinity;
  for (const { limit } of lines) lowestLimit = limit.reduce((a, b) => Math.min(a, b), lowestLimit);
  if (lowestLimit <= highest * 2) top = Math.max(top, lowestLimit * 1.1);
  const hidden = Number.isFinite(lowestLimit) && lowestLimit > top ? lowestLimit : null;
  return { top, hidden };
}

// Round numbers from 0 to just above `top`, in about `steps` steps: as many as leave the least room
// unused.
function scaleTo(top, steps) {
  let best = null;
  for (const most of [steps, steps + 1, steps - 1]) {
    const { step } = ticks(0, top, Math.max(2, most));
    const largest = Math.ceil(top / step - 1e-9) * step;
    if (best === null || largest < best.largest) best = { step, largest };
  }
  return { ...best, values: ticks(0, best.largest, Math.round(best.largest / best.step)).values };
}

function paintScale(place, chart, values, step, largest, y) {
  const unit = unitFor(chart.units, largest);
  for (const value of values) {
    const at = px(place.top + y(value));
    place.behind.append(
      svg("line", { class: "grid", x1: place.left, x2: place.left + place.width, y1: at, y2: at }),
      svg(
        "text",
        { class: "tick", x: place.left - 7, y: at + 4, "text-anchor": "end" },
        tickText(value, step, unit),
      ),
    );
  }
  place.behind.append(
    svg("text", { class: "unit", x: place.left - 7, y: place.top - 10, "text-anchor": "end" }, unit.name),
  );
}

// Dashed lines of the limits. Queues of a switch often share one; what is shared by all, or are so
// many that colours would say nothing, is grey.
function paintLimits(axis, place, shown, y) {
  const limits = new Map();
  for (const { limit, colour } of shown) if (limit.length > 0) limits.set(limit.join(), { limit, colour });
  const isGrey = limits.size === 1 || limits.size > 3;
  for (const { limit, colour } of limits.values()) {
    const d = linePath(axis, place, limit, y, 1, limit[0]);
    place.marks.append(svg("path", { class: `limit ${isGrey ? "muted" : colour}`, d }));
  }
}

function noteOnLimits(shown, hidden) {
  if (!shown.some(({ limit }) => limit.length > 0)) return "";
  const where =
    hidden === null ? "Dashed: XOFF" : `XOFF, ${sizeText(hidden)} and more, lies higher than this picture`;
  return `${where}. Above it a queue asks for silence.`;
}

// The path of `values` where the axis is; of samples that share a pixel the lowest and the highest.
// It begins at `start`, or at the first value.
function linePath(axis, place, values, y, offset, start) {
  const first = Math.max(0, Math.floor(axis.from / axis.step) - 1);
  const last = Math.min(values.length - 1, Math.ceil(axis.to / axis.step) + 1);
  // A series may end before the part that is shown begins.
  if (first > last) return "";
  const stride = Math.max(1, Math.floor((last - first) / (place.width * 2)));
  const points = [];
  const add = (time, value) => points.push(`${px(place.x(time))} ${px(y(value))}`);
  // Queues are empty at first; a rate is what it is from the start of its step.
  if (first === 0) add(0, start ?? (offset === 1 ? 0 : values[0]));
  for (let from = first; from <= last; from += stride) {
    let [low, high] = [from, from];
    for (let n = from + 1; n < from + stride && n <= last; n += 1) {
      if (values[n] < values[low]) low = n;
      if (values[n] > values[high]) high = n;
    }
    for (const n of low === high ? [low] : [Math.min(low, high), Math.max(low, high)]) {
      add((n + offset) * axis.step, values[n]);
    }
  }
  if (last === values.length - 1 && offset < 1) add(values.length * axis.step, values[last]);
  return `M${points.join("L")}`;
}

// The area below a line.
function closed(path, bottom) {
  if (path === "") return "";
  const points = path.slice(1).split("L");
  const [first, last] = [points[0], points[points.length - 1]].map((point) => point.split(" ")[0]);
  return `${path}L${last} ${bottom}L${first} ${bottom}Z`;
}

// Names the line next to the pointer: the only way to tell grey lines apart.
function nameNearest(event, place, view, sampleOf, textOf) {
  view.near?.remove();
  view.near = null;
  const box = place.root.getBoundingClientRect();
  const scale = ratio(place.root.viewBox.baseVal.width, box.width);
  const pointer = {
    x: (event.clientX - box.left) * scale - place.left,
    y: (event.clientY - box.top) * scale - place.top,
  };
  if (pointer.y < 0 || pointer.y > place.height || view.lines.length < 2) return;
  const sample = sampleOf(place.timeAt(pointer.x));
  let best = { distance: 10, line: null };
  for (const line of view.lines.filter((line) => line.path)) {
    const distance = Math.abs(line.y(line.values[sample] ?? 0) - pointer.y);
    if (distance < best.distance) best = { distance, line };
  }
  if (best.line === null) return;
  const isLeft = pointer.x < place.width * 0.6;
  const text = `${shorten(best.line.label, 40)}: ${textOf(best.line.values[sample] ?? 0)}`;
  view.near = svg(
    "text",
    {
      class: "near",
      x: px(place.left + pointer.x + (isLeft ? 10 : -10)),
      y: px(place.top + pointer.y - 8),
      "text-anchor": isLeft ? "start" : "end",
    },
    text,
  );
  place.cursor.append(view.near);
}
