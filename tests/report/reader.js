// What a reader does to a page, noted on its root for the test: toggles a line, asks for all rows,
// reads the end, zooms and goes back.
{
  const chart = document.querySelectorAll("svg.chart")[2];
  const press = (key) => chart.dispatchEvent(new KeyboardEvent("keydown", { key }));
  const count = (what) => document.querySelectorAll(what).length;
  const wholeRun = document.querySelector("#whole-run");
  const notes = document.documentElement.dataset;
  document.querySelector("#flow-rates .legend button").click();
  notes.lines = count("#flow-rates .line");
  document.querySelector("#pauses .side button").click();
  notes.rows = count("#pauses .pause-track");
  press("End");
  notes.read = document.querySelector("#queues .side-head").textContent;
  press("Home");
  press("+");
  notes.zoomed = !wholeRun.hidden;
  press("0");
  notes.whole = wholeRun.hidden;
}
