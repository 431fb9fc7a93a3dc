// Reads the outcome that the page carries and draws each part.

const { seed, outcome } = JSON.parse(byId("outcome").textContent);
const { timeline, flows, deadlock } = outcome;

showHeader(outcome, seed);
showVerdict(outcome);
showFacts(outcome);
drawTopology(outcome, byId("topology-plot"), byId("topology-side"));
drawTime();
flowTable(outcome, byId("flows-table"));
dropTable(outcome, byId("drops-table"));

function drawTime() {
  const end = endOfRun(outcome);
  const step = timeline.step_ps;
  if (!(end > 0)) {
    byId("time").replaceChildren(nothing("No time passed."));
    return;
  }
  const axis = timeAxis(end, step > 0 ? step : end, marksOf(outcome, end));
  const whole = byId("whole-run");
  whole.addEventListener("click", () => axis.zoom(0, end));
  axis.onChange(() => {
    whole.hidden = axis.isWhole();
  });
  drawRates(axis);
  drawQueues(axis);
  if (timeline.pauses.length > 0) pauseChart(axis, byId("pauses"), timeline.pauses, hopWith("output"));
  else byId("pauses").append(nothing("Nobody was paused."));
}

// Whether a hop of the deadlock has this port as its `side`, "input" or "output", with this
// priority.
function hopWith(side) {
  const places = new Set(
    (deadlock?.cycle ?? []).map((hop) => `${hop.switch}:${hop[side]}/${hop[`${side}_priority`]}`),
  );
  return (port, priority) => places.has(`${port}/${priority}`);
}

function drawRates(axis) {
  const rates = (bytes) => bytes.map((step) => rate(step, axis.step));
  // The last step may reach beyond the run, but bytes of steps are bytes all the same.
  const mean = ({ values }) =>
    ratio(
      values.reduce((sum, value) => sum + value, 0),
      values.length,
    );
  const common = { units: RATES, offset: 0.5, word: "mean", summary: mean, least: 1e9, zero: "Gb/s" };
  if (timeline.all_bytes.length === 0) byId("total").append(nothing("No samples were taken."));
  else {
    lineChart(axis, byId("total"), {
      ...common,
      name: "Throughput of all flows together",
      height: 84,
      isTotal: true,
      series: [
        { label: "all flows", detail: "all flows together", values: rates(timeline.all_bytes), limit: [] },
      ],
    });
  }
  const series = timeline.flow_bytes
    .filter((bytes) => bytes.length > 0)
    .map((bytes, n) => ({
      label: flows[n]?.name ?? `flow ${n + 1}`,
      detail: flows[n] ? `${flows[n].name}, from ${flows[n].from} to ${flows[n].to}` : `flow ${n + 1}`,
      values: rates(bytes),
      limit: [],
    }));
  if (series.length === 0) byId("flow-rates").append(nothing("No flow was sampled."));
  else lineChart(axis, byId("flow-rates"), { ...common, name: "Throughput by flow", height: 220, series });
}

function drawQueues(axis) {
  const isInCycle = hopWith("input");
  const series = timeline.queues
    .filter((queue) => queue.bytes.length > 0)
    .map((queue) => ({
      label: `${queue.port} p${queue.priority}`,
      detail: `${queue.port}, priority ${queue.priority}`,
      values: queue.bytes,
      limit: queue.xoff_bytes,
      isInCycle: isInCycle(queue.port, queue.priority),
    }));
  if (series.length === 0) {
    byId("queues").append(nothing("No queue held anything."));
    return;
  }
  lineChart(axis, byId("queues"), {
    name: "Depth of ingress queues",
    units: SIZES,
    offset: 1,
    word: "deepest",
    least: 1000,
    zero: "kB",
    height: 220,
    hasLimits: true,
    series,
    summary: ({ values }) => values.reduce((a, b) => Math.max(a, b), 0),
  });
}
