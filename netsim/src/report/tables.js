// Tables of flows and of drops.

const FLOW_ROWS = 200;

// A table in a box that scrolls by itself if it is wider than the page. A column has `head`,
// `title`, whether it `isNumber`, and `cell(row)`, a text or an element.
function table(name, columns, rows) {
  const cell = (tag, column, content) =>
    html(
      tag,
      {
        class: column.isNumber ? "number" : null,
        title: tag === "th" ? (column.title ?? null) : null,
        scope: tag === "th" ? "col" : null,
      },
      content,
    );
  const head = html("tr", {}, ...columns.map((column) => cell("th", column, column.head)));
  const body = rows.map((row) =>
    html("tr", {}, ...columns.map((column) => cell("td", column, column.cell(row)))),
  );
  return html(
    "div",
    { class: "scroll", role: "region", "aria-label": name, tabindex: 0 },
    html("table", {}, html("thead", {}, head), html("tbody", {}, ...body)),
  );
}

const nameCell = (text) => html("span", { class: "name", title: text }, shorten(text, 36));
const strong = (text) => html("strong", {}, text);
const gigabits = (bytes, picoseconds) => (rate(bytes, picoseconds) / 1e9).toFixed(2);

// Time in which a flow could send: to its last byte, or until the sources stopped.
function timeOf(flow, duration) {
  return Math.max(0, (flow.finished_ps ?? duration) - flow.start_ps);
}

// The rate over the last quarter. A flow without an end that came to nothing was stopped.
function lateRate(flow, duration) {
  if (flow.late_bytes === 0 && flow.finished_ps !== null) return "–";
  const text = gigabits(flow.late_bytes * 4, duration);
  return flow.late_bytes === 0 && duration > 0 ? strong(text) : text;
}

function flowColumns(duration) {
  const number = (head, title, cell) => ({ head, title, cell, isNumber: true });
  return [
    { head: "Flow", cell: (flow) => nameCell(flow.name) },
    { head: "From", cell: (flow) => nameCell(flow.from) },
    { head: "To", cell: (flow) => nameCell(flow.to) },
    number("Gb/s", "Mean from its start to its last byte, or until the sources stopped", (flow) =>
      gigabits(flow.received_bytes, timeOf(flow, duration)),
    ),
    number("Gb/s late", "Mean over the last quarter of the time that sources sent", (flow) =>
      lateRate(flow, duration),
    ),
    number("Sent", "Frames put on the sender's wire, those sent again included", (flow) =>
      count(flow.sent_frames),
    ),
    number("Received", "Frames that arrived", (flow) => count(flow.received_frames)),
    number("Missing", "Frames lost, or still in the network", (flow) =>
      flow.missing_frames > 0 ? strong(count(flow.missing_frames)) : "0",
    ),
    number("Size", "Bytes it had to carry", (flow) =>
      flow.size_bytes === null ? "–" : columnText(SIZES, flow.size_bytes),
    ),
    number("Finished", "When its last byte had arrived", (flow) =>
      flow.finished_ps !== null
        ? columnText(TIMES, flow.finished_ps)
        : flow.size_bytes === null
          ? "–"
          : strong("no"),
    ),
  ];
}

function flowTable({ flows, duration_ps: duration }, holder) {
  if (flows.length === 0) {
    holder.append(nothing("There were no flows."));
    return;
  }
  const shown = flows.slice(0, FLOW_ROWS);
  holder.append(table("Flows", flowColumns(duration), shown));
  const rest = flows.length - shown.length;
  const note = rest > 0 ? `The first ${count(FLOW_ROWS)} of ${count(flows.length)} flows. ` : "";
  holder.append(
    html("p", { class: "hint" }, `${note}Sent, received and missing are frames; late is the last quarter.`),
  );
}

function dropTable({ drops }, holder) {
  if (drops.length === 0) {
    holder.append(nothing("No frame was dropped."));
    return;
  }
  holder.append(
    table(
      "Drops",
      [
        { head: "Reason", cell: (drop) => html("code", {}, drop.reason) },
        { head: "Frames", isNumber: true, cell: (drop) => count(drop.frames) },
      ],
      drops,
    ),
  );
}
