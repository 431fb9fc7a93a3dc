// Who was paused and when: a row for each sender, on the time axis of the other charts.

const PAUSE_ROWS = 16;
const SHADES = 4;

// The rows of `pauses` in `figure`; the first ones, until the reader asks for all.
function pauseChart(axis, figure, pauses, isInCycle) {
  const plot = html("div", { class: "plot" });
  const list = html("ol", { class: "pause-list" });
  const head = html("p", { class: "side-head" }, "share of the time");
  const side = html("div", { class: "side" }, head, list);
  figure.replaceChildren(plot, side);
  const rows = pauses.map((pause) => ({
    ...pause,
    isInCycle: isInCycle(pause.sender, pause.priority),
    text: `${shorten(pause.sender, 14)} ← ${shorten(pause.by, 14)}`,
    detail: `${pause.sender}, priority ${pause.priority}, paused by ${pause.by}`,
    total: pause.spans_ps.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, axis.end) - from), 0),
  }));
  let shown = rows.slice(0, PAUSE_ROWS);
  // Beside the rows, or in them where the page has one column; a printed page keeps what was drawn.
  const narrow = matchMedia("(max-width: 820px)");
  const isNarrow = () => narrow.matches;
  const rowHeight = () => (isNarrow() ? 32 : 18);
  const frame = timeFrame(axis, plot, {
    name: "Pauses by sender",
    height: () => shown.length * rowHeight(),
    paint: (place) => {
      figure.classList.toggle("names-inside", isNarrow());
      shown.forEach((row, n) => paintRow(axis, place, row, n * rowHeight(), rowHeight(), isNarrow()));
    },
    read: (time) => {
      const paused = rows.filter((row) => row.spans_ps.some(([from, to]) => from <= time && time < to));
      return paused.length === 0 ? "nobody is paused" : paused.map((row) => row.detail).join("; ");
    },
  });
  const fillList = () => {
    list.replaceChildren(
      ...shown.map((row) =>
        html(
          "li",
          { title: row.detail },
          html("span", { class: row.isInCycle ? "label in-cycle" : "label" }, row.text),
          html("span", { class: "priority" }, `p${row.priority}`),
          html("span", { class: "value" }, shareText(ratio(row.total, axis.end))),
        ),
      ),
    );
  };
  fillList();
  if (rows.length > shown.length) {
    const more = html("button", { type: "button" }, `Show all ${rows.length}`);
    more.addEventListener("click", () => {
      shown = rows;
      more.remove();
      fillList();
      frame.draw();
    });
    side.append(more);
  }
}

function paintRow(axis, place, row, y, height, isNarrow) {
  const textHeight = isNarrow ? 15 : 3;
  const share = shareText(ratio(row.total, axis.end));
  if (isNarrow) {
    place.marks.append(
      svg(
        "text",
        { class: row.isInCycle ? "row-text in-cycle" : "row-text", x: 0, y: y + 12 },
        `${row.text}  p${row.priority}  ${share}`,
      ),
    );
  }
  const bar = height - textHeight - 3;
  place.marks.append(
    svg("rect", { class: "pause-track", x: 0, y: y + textHeight, width: place.width, height: bar }),
  );
  shadesOf(axis, place, row.spans_ps).forEach((runs, shade) => {
    if (runs.length === 0) return;
    const d = runs
      .map(([from, to]) => `M${from} ${y + textHeight}H${to}V${y + textHeight + bar}H${from}Z`)
      .join("");
    place.marks.append(
      svg("path", { class: `pause shade-${shade + 1} ${row.isInCycle ? "in-cycle" : ""}`, d }),
    );
  });
}

// Runs of pixels by how much of each was paused, in `SHADES` steps. Thousands of short pauses are
// so drawn as what they come to, not as one that never ended.
function shadesOf(axis, place, spans) {
  const pixels = new Float64Array(Math.ceil(place.width));
  for (const [start, stop] of spans) {
    const from = Math.max(0, place.x(start));
    const to = Math.min(pixels.length, place.x(Math.min(stop, axis.end)));
    for (let n = Math.floor(from); n < to; n += 1) pixels[n] += Math.min(n + 1, to) - Math.max(n, from);
  }
  const shades = Array.from({ length: SHADES }, () => []);
  let start = 0;
  const shadeAt = (n) => (pixels[n] > 0 ? Math.min(SHADES, Math.ceil(pixels[n] * SHADES - 1e-6)) || 1 : 0);
  for (let n = 1; n <= pixels.length; n += 1) {
    if (n < pixels.length && shadeAt(n) === shadeAt(start)) continue;
    if (shadeAt(start) > 0) shades[shadeAt(start) - 1].push([start, n]);
    start = n;
  }
  return shades;
}
