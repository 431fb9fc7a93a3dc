// The head of the page: what was simulated, the verdict, and the figures that decide it.

// `A → B → C → A`.
function cycleText(cycle) {
  const names = cycle.map((hop) => shorten(hop.switch, 24));
  return [...names, ...names.slice(0, 1)].join(" → ");
}

// The verdict's kind and words.
function verdictOf(outcome) {
  const { deadlock, duration_ps: duration, drained_ps: drained, frames_stuck: stuck } = outcome;
  if (deadlock) {
    return { kind: "bad", text: `Deadlock at ${timeText(deadlock.closed_ps)}: ${cycleText(deadlock.cycle)}` };
  }
  if (duration === 0 && outcome.flows.length === 0)
    return { kind: "doubtful", text: "No deadlock; nothing was sent" };
  const isSound = outcome.violations.length === 0 && outcome.lossless_drops === 0;
  if (stuck > 0) {
    return {
      kind: "doubtful",
      text: `No deadlock, but ${things(stuck, "frame", "frames")} never left the network`,
    };
  }
  const after =
    drained === null ? "" : `; drained ${timeText(Math.max(0, drained - duration))} after the sources stopped`;
  return { kind: isSound ? "good" : "doubtful", text: `No deadlock${after}` };
}

const VERDICT_MARKS = {
  good: "M5 12.5L10 17.5L19.5 7",
  doubtful: "M12 5V14M12 18V18.5",
  bad: "M6 6L18 18M18 6L6 18",
};

function showVerdict(outcome) {
  const { kind, text } = verdictOf(outcome);
  byId("verdict").classList.add(kind);
  byId("verdict-mark").setAttribute("d", VERDICT_MARKS[kind]);
  byId("verdict-text").textContent = text;
  const list = byId("violations");
  list.hidden = outcome.violations.length === 0;
  list.append(...outcome.violations.map((violation) => html("li", {}, violation)));
}

function showHeader(outcome, seed) {
  const title = outcome.name || "Unnamed scenario";
  document.title = `${title} · Knotless`;
  byId("name").textContent = title;
  byId("about").textContent = outcome.about;
  byId("about").hidden = outcome.about === "";
  const entries = [
    ["Scheme", outcome.scheme],
    ["Seed", seed],
    ["Trace", outcome.trace_hash],
  ];
  for (const [term, text] of entries.filter(([, value]) => value !== "")) {
    byId("identity").append(html("div", {}, html("dt", {}, term), html("dd", {}, text)));
  }
}

// Figures with their units; `isBad` ones must not be overlooked.
function showFacts(outcome) {
  const { flows, pfc_frames: pfc, violations } = outcome;
  const finite = flows.filter((flow) => flow.size_bytes !== null);
  const finished = finite.filter((flow) => flow.finished_ps !== null).length;
  const received = flows.reduce((sum, flow) => sum + flow.received_bytes, 0);
  const facts = [
    ["Lossless drops", count(outcome.lossless_drops), outcome.lossless_drops > 0],
    ["Violations", count(violations.length), violations.length > 0],
    ["Stuck frames", count(outcome.frames_stuck), outcome.frames_stuck > 0],
    ["Lossy drops", count(outcome.lossy_drops)],
    ["Sources sent for", timeText(outcome.duration_ps)],
    ["Received", sizeText(received)],
    ["PFC frames", count(pfc)],
    ["Paused, summed", timeText(outcome.paused_ps)],
    ["Frames at switches", count(outcome.packet_hops)],
  ];
  if (finite.length > 0) facts.push(["Flows finished", `${count(finished)} of ${count(finite.length)}`]);
  else facts.push(["Flows", count(flows.length)]);
  for (const [term, text, isBad] of facts) {
    byId("facts").append(
      html("div", { class: isBad ? "bad" : null }, html("dt", {}, term), html("dd", {}, text)),
    );
  }
}
