// The column beside a chart: what each line is, what it shows at the cursor, and a switch for each.

// Fills `side` with an entry for each of `entries` ({ label, detail, colour, isInCycle, isShown }).
// `valueOf` gives an entry's text at a sample, or its summary, of which `word` says what it is,
// without one; `note` is an element below, or null.
function legend(axis, side, { word, entries, note, valueOf, sampleOf, onToggle, onPoint }) {
  const head = html("p", { class: "side-head" });
  const list = html("ul", { class: "legend" });
  side.append(head, list);
  if (note !== null) side.append(note);
  const rows = entries.map((entry) => {
    const value = html("span", { class: "value" });
    const button = html(
      "button",
      { type: "button", "aria-pressed": "true", title: entry.detail },
      html("span", { class: `swatch ${entry.colour}`, "aria-hidden": "true" }),
      html("span", { class: entry.isInCycle ? "label in-cycle" : "label" }, entry.label),
      value,
    );
    button.addEventListener("click", () => {
      entry.isShown = !entry.isShown;
      button.setAttribute("aria-pressed", String(entry.isShown));
      onToggle();
    });
    for (const [event, target] of [
      ["mouseenter", entry],
      ["focus", entry],
      ["mouseleave", null],
      ["blur", null],
    ]) {
      button.addEventListener(event, () => onPoint(target));
    }
    list.append(html("li", {}, button));
    return { entry, value };
  });
  const refresh = () => {
    const sample = axis.cursor === null ? null : sampleOf(axis.cursor);
    head.textContent = sample === null ? word : `at ${axis.text(axis.cursor)}`;
    for (const { entry, value } of rows) value.textContent = valueOf(entry, sample);
  };
  axis.onChange((what) => what === "cursor" && refresh());
  refresh();
}
