// A chart of means with their intervals: one place for each combination of values, and beside each
// other at a place one dot for each scheme.

const CHART = { width: 360, height: 190, left: 52, right: 10, top: 10, row: 15 };

// The labels below a chart, a row for each parameter: a value that several neighboring places share
// stands once, in their middle.
function labelRows(places) {
  return (places[0] ?? []).map((_, row) => {
    const labels = [];
    places.forEach((values, place) => {
      const last = labels[labels.length - 1];
      const isSame = last !== undefined && values.slice(0, row + 1).every((value, at) => value === last.values[at]);
      if (isSame) last.to = place;
      else labels.push({ values: values.slice(0, row + 1), text: values[row], from: place, to: place });
    });
    return labels;
  });
}

// `places` are lists of values, one for each parameter; `series` are { name, colour, points }, and
// points { place, figure }.
function intervalChart(title, places, series, largest) {
  const inner = CHART.width - CHART.left - CHART.right;
  const rows = labelRows(places);
  const base = CHART.height - CHART.row;
  const height = base + CHART.row * (rows.length + 0.6);
  const step = inner / Math.max(1, places.length);
  const spread = Math.min(10, step / (series.length + 1));
  const y = (value) => base - (largest > 0 ? value / largest : 0) * (base - CHART.top);
  const x = (place, at) => CHART.left + (place + 0.5) * step + (at - (series.length - 1) / 2) * spread;
  const picture = svg("svg", {
    class: "interval-chart",
    viewBox: `0 0 ${CHART.width} ${height}`,
    role: "img",
    "aria-label": title,
  });
  const { step: between, values } = ticks(0, largest > 0 ? largest : 1, 4);
  for (const value of values) {
    if (largest > 0 && value > largest * 1.001) continue;
    const at = px(largest > 0 ? y(value) : base);
    picture.append(
      svg("path", { class: "grid", d: `M${CHART.left} ${at}H${CHART.width - CHART.right}` }),
      svg("text", { x: CHART.left - 6, y: at + 4, "text-anchor": "end" }, tickText(value, between, { size: 1 })),
    );
    if (!(largest > 0)) break;
  }
  rows.forEach((labels, row) => {
    for (const { text: label, from, to } of labels) {
      const x = px(CHART.left + ((from + to + 1) / 2) * step);
      const most = Math.max(3, Math.floor(((to - from + 1) * step) / 6.6));
      const place = { x, y: px(base + CHART.row * (row + 1)), "text-anchor": "middle" };
      const text = svg("text", place, shorten(label, most));
      text.append(svg("title", {}, label));
      picture.append(text);
    }
  });
  series.forEach(({ name, colour, points }, at) => {
    const shown = points.map(({ place, figure }) => ({ x: px(x(place, at)), place, figure }));
    // Between values of one parameter only: places of several are in no order.
    if (shown.length > 1 && rows.length === 1) {
      const line = shown.map((point) => `${point.x},${px(y(point.figure.mean))}`).join(" ");
      picture.append(svg("polyline", { class: `line ${colour}`, points: line, opacity: 0.35 }));
    }
    for (const { x: at, place, figure } of shown) {
      const { mean, low, high, count: runs } = figure;
      const group = svg("g", { class: colour });
      if (low !== null) {
        const ends = [low, high].map((value) => px(y(Math.min(largest, Math.max(0, value)))));
        group.append(svg("path", { class: "bar", d: `M${at} ${ends[0]}V${ends[1]}` }));
      }
      group.append(svg("circle", { class: "dot", cx: at, cy: px(y(mean)), r: 3.5 }));
      const between = low === null ? "" : `, ${plain(low)} to ${plain(high)}`;
      const where = [name, ...places[place]].join(", ");
      const about = `${where}: ${plain(mean)}${between} (${things(runs, "run", "runs")})`;
      group.append(svg("title", {}, about));
      picture.append(group);
    }
  });
  return picture;
}
