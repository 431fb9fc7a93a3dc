// One time axis for all charts: which part of the run is shown, and where the reader points.

// The axis of a run that was watched from 0 to `end`, sampled every `step` picoseconds.
function timeAxis(end, step, marks) {
  const listeners = [];
  const tell = (what) => listeners.forEach((listener) => listener(what));
  const axis = { from: 0, to: end, end, step, marks, cursor: null };
  // `listener` hears "range" or "cursor".
  axis.onChange = (listener) => listeners.push(listener);
  axis.zoom = (from, to) => {
    // Less than two samples would show nothing; less than a nanosecond is below any wire's grain.
    const least = Math.min(end, Math.max(step * 2, 1000));
    const span = Math.min(end, Math.max(least, to - from));
    axis.from = Math.min(Math.max(0, (from + to - span) / 2), end - span);
    axis.to = axis.from + span;
    tell("range");
  };
  axis.isWhole = () => axis.to - axis.from >= end;
  axis.point = (time) => {
    axis.cursor = time === null ? null : Math.min(end, Math.max(0, time));
    tell("cursor");
  };
  // A time as finely as it can be pointed at.
  axis.text = (time) => {
    const grain = 10 ** Math.floor(Math.log10((axis.to - axis.from) / 500));
    const unit = unitFor(TIMES, axis.to);
    return `${tickText(time, grain, unit)} ${unit.name}`;
  };
  // The sample that tells of `time`, if there are `count` of them.
  axis.sampleAt = (time, count) => Math.min(count - 1, Math.max(0, Math.floor(time / step)));
  return axis;
}

// Picoseconds from 0 to the last thing worth showing.
function endOfRun(outcome) {
  const { timeline } = outcome;
  const samples = [timeline.all_bytes, ...timeline.flow_bytes, ...timeline.queues.map((queue) => queue.bytes)];
  const most = samples.reduce((sum, values) => Math.max(sum, values.length), 0);
  return Math.max(outcome.duration_ps, most * timeline.step_ps, outcome.deadlock?.closed_ps ?? 0);
}

// Moments that every chart marks.
function marksOf(outcome, end) {
  const marks = [];
  // At the right edge it would say nothing.
  if (outcome.duration_ps > 0 && outcome.duration_ps < end * 0.995) {
    marks.push({ time: outcome.duration_ps, text: "sources stop", kind: "stop" });
  }
  if (outcome.deadlock) {
    const time = outcome.deadlock.closed_ps;
    marks.push({ time, text: `deadlock ${timeText(time)}`, kind: "deadlock" });
  }
  return marks;
}
