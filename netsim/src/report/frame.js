// What every chart over time has: margins, the time axis, marked moments, the cursor, zoom and
// keys.

const MARGIN = { left: 54, right: 14, top: 20, bottom: 26 };

// A chart in `holder` that spans the axis. `chart` has `name`, `height()`, `paint(place)` to draw
// into the groups of `place`, and `read(time)`, what it shows at a time, as text.
function timeFrame(axis, holder, chart) {
  const root = svg("svg", {
    class: "chart",
    role: "slider",
    tabindex: 0,
    "aria-label": chart.name,
    "aria-valuemin": 0,
  });
  const layers = { behind: svg("g"), marks: svg("svg", { class: "clip" }), front: svg("g"), cursor: svg("g") };
  root.append(layers.behind, layers.marks, layers.front, layers.cursor);
  holder.append(root);
  const place = { ...layers, root, left: MARGIN.left, top: MARGIN.top, width: 0, height: 0 };
  place.x = (time) => ((time - axis.from) / (axis.to - axis.from)) * place.width;
  place.timeAt = (x) => axis.from + (x / place.width) * (axis.to - axis.from);

  const draw = () => {
    const width = Math.max(240, holder.clientWidth);
    place.width = width - MARGIN.left - MARGIN.right;
    place.height = chart.height();
    const height = place.height + MARGIN.top + MARGIN.bottom;
    fill(root, { viewBox: `0 0 ${width} ${height}`, width, height }, []);
    Object.values(layers).forEach((layer) => layer.replaceChildren());
    // A line at the very top or bottom keeps its width.
    fill(
      layers.marks,
      {
        x: place.left,
        y: place.top - 2,
        width: place.width,
        height: place.height + 4,
        viewBox: `0 -2 ${place.width} ${place.height + 4}`,
      },
      [],
    );
    drawTimeAxis(axis, place);
    chart.paint(place);
    drawMarks(axis, place);
    drawCursor(axis, place, chart);
  };
  axis.onChange((what) => (what === "range" ? draw() : drawCursor(axis, place, chart)));
  watchWidth(holder, draw);
  listenToPointer(axis, place, chart);
  listenToKeys(axis, root);
  draw();
  return { draw, place };
}

function drawTimeAxis(axis, place) {
  place.ticks = [];
  const { step, values } = ticks(axis.from, axis.to, Math.max(2, Math.floor(place.width / 90)));
  const unit = unitFor(TIMES, Math.max(axis.to, step));
  const bottom = place.top + place.height;
  for (const value of values) {
    const x = px(place.left + place.x(value));
    const text = value === 0 ? "0" : `${tickText(value, step, unit)} ${unit.name}`;
    const middle = Math.min(x, place.left + place.width + MARGIN.right - widthOf(text, 11) / 2);
    const label = svg("text", { class: "tick", x: px(middle), y: bottom + 16, "text-anchor": "middle" }, text);
    place.ticks.push({ label, middle, half: widthOf(text, 11) / 2 });
    place.behind.append(svg("line", { class: "grid", x1: x, x2: x, y1: place.top, y2: bottom }), label);
  }
  place.behind.append(
    svg("line", { class: "axis", x1: place.left, x2: place.left + place.width, y1: bottom, y2: bottom }),
  );
}

function drawMarks(axis, place) {
  // Where two labels would meet, the deadlock's stays.
  let taken = null;
  const shown = axis.marks.filter((mark) => mark.time >= axis.from && mark.time <= axis.to);
  for (const { time, text, kind } of [...shown].reverse()) {
    const x = px(place.left + place.x(time));
    place.front.append(
      svg("line", { class: `mark ${kind}`, x1: x, x2: x, y1: place.top - 4, y2: place.top + place.height }),
    );
    const width = widthOf(text, 11);
    const isRight = x + width > place.left + place.width;
    const [start, end] = isRight ? [x - width, x] : [x, x + width];
    if (taken === null || end < taken[0] || start > taken[1]) {
      taken = [start, end];
      place.front.append(
        svg(
          "text",
          {
            class: `mark-text ${kind}`,
            x: isRight ? x + 3 : x - 3,
            y: place.top - 8,
            "text-anchor": isRight ? "end" : "start",
          },
          text,
        ),
      );
    }
  }
}

function drawCursor(axis, place, chart) {
  place.cursor.replaceChildren();
  for (const { label } of place.ticks) label.removeAttribute("visibility");
  const time = axis.cursor ?? axis.from;
  fill(
    place.root,
    {
      "aria-valuemax": Math.round(axis.end),
      "aria-valuenow": Math.round(time),
      "aria-valuetext": `${axis.text(time)}: ${chart.read(time)}`,
    },
    [],
  );
  if (axis.cursor === null || axis.cursor < axis.from || axis.cursor > axis.to) return;
  const x = px(place.left + place.x(axis.cursor));
  const bottom = place.top + place.height;
  const text = axis.text(axis.cursor);
  const half = widthOf(text, 11) / 2 + 5;
  const middle = Math.min(place.left + place.width + MARGIN.right - half, Math.max(half, x));
  for (const tick of place.ticks) {
    // A label half covered could be read as another number.
    if (Math.abs(tick.middle - middle) < tick.half + half) tick.label.setAttribute("visibility", "hidden");
  }
  place.cursor.append(
    svg("line", { class: "cursor", x1: x, x2: x, y1: place.top, y2: bottom }),
    svg("rect", {
      class: "cursor-box",
      x: px(middle - half),
      y: bottom + 4,
      width: px(half * 2),
      height: 17,
      rx: 3,
    }),
    svg("text", { class: "cursor-text", x: px(middle), y: bottom + 16, "text-anchor": "middle" }, text),
  );
}

// Pointing reads; dragging with a mouse zooms; a double click shows the whole run. A finger only
// reads, so that it can still scroll the page.
function listenToPointer(axis, place, chart) {
  const { root } = place;
  let dragFrom = null;
  let band = null;
  const xOf = (event) => {
    const box = root.getBoundingClientRect();
    const scale = ratio(root.viewBox.baseVal.width, box.width);
    return Math.min(place.width, Math.max(0, (event.clientX - box.left) * scale - place.left));
  };
  const stop = () => {
    band?.remove();
    dragFrom = band = null;
  };
  root.addEventListener("pointermove", (event) => {
    const x = xOf(event);
    axis.point(place.timeAt(x));
    chart.near?.(event, place);
    if (dragFrom === null) return;
    band ??= place.front.appendChild(svg("rect", { class: "band", y: place.top, height: place.height }));
    fill(band, { x: px(place.left + Math.min(x, dragFrom)), width: px(Math.abs(x - dragFrom)) }, []);
  });
  root.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "mouse" || event.button !== 0) return;
    dragFrom = xOf(event);
    root.setPointerCapture(event.pointerId);
  });
  root.addEventListener("pointerup", (event) => {
    const [from, to] = [dragFrom, xOf(event)].sort((a, b) => a - b);
    const isDrag = dragFrom !== null && to - from > 6;
    stop();
    if (isDrag) axis.zoom(place.timeAt(from), place.timeAt(to));
  });
  root.addEventListener("pointercancel", stop);
  root.addEventListener("pointerleave", () => dragFrom === null && axis.point(null));
  root.addEventListener("dblclick", () => axis.zoom(0, axis.end));
}

function listenToKeys(axis, root) {
  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const span = axis.to - axis.from;
    const at = axis.cursor ?? axis.from;
    const stride = Math.max(axis.step, span / 100) * (event.shiftKey ? 10 : 1);
    const zoomBy = (times) => axis.zoom(at - (span * times) / 2, at + (span * times) / 2);
    const actions = {
      ArrowLeft: () => axis.point(Math.max(axis.from, at - stride)),
      ArrowRight: () => axis.point(Math.min(axis.to, at + stride)),
      Home: () => axis.point(axis.from),
      End: () => axis.point(axis.to),
      Escape: () => axis.point(null),
      "+": () => zoomBy(0.5),
      "=": () => zoomBy(0.5),
      "-": () => zoomBy(2),
      0: () => axis.zoom(0, axis.end),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}
