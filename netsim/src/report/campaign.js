// The page of a campaign, from its summary.

const summary = JSON.parse(byId("summary").textContent);
const { schemes, parameters, figures, groups } = summary;
const colourOf = (scheme) => `s${(schemes.indexOf(scheme) % 8) + 1}`;

// What the values of a group are, as text.
const valuesOf = (group) => parameters.map(({ key }) => group.parameters[key]);
const placeOf = (group) => JSON.stringify(valuesOf(group));

byId("name").textContent = summary.campaign;
byId("about").textContent = summary.about;
for (const [term, text] of [
  ["runs", count(summary.runs)],
  ["seeds", `${summary.seeds.first} to ${summary.seeds.last}`],
  ...parameters.map(({ key, values }) => [key, values.join(", ")]),
  ["digest", summary.digest.slice(0, 16)],
]) {
  byId("identity").append(html("div", {}, html("dt", {}, term), html("dd", {}, text)));
}
for (const scheme of schemes) {
  const swatch = html("span", { class: `swatch ${colourOf(scheme)}`, "aria-hidden": "true" });
  byId("schemes").append(html("li", {}, swatch, scheme));
}

for (const scenario of new Set(groups.map((group) => group.scenario))) {
  const own = groups.filter((group) => group.scenario === scenario);
  const places = [...new Set(own.map(placeOf))];
  const charts = html("div", { class: "charts" });
  for (const { key, title, is_share: isShare } of figures) {
    const has = own.filter((group) => group.figures !== null && group.figures[key] !== null);
    if (has.length === 0) continue;
    const series = schemes.map((name) => ({
      name,
      colour: colourOf(name),
      points: has
        .filter((group) => group.scheme === name)
        .map((group) => ({ place: places.indexOf(placeOf(group)), figure: group.figures[key] })),
    }));
    const most = has.map(({ figures: { [key]: figure } }) => figure.high ?? figure.mean);
    const largest = isShare ? 1 : Math.max(0, ...most);
    const labels = places.map((place) => JSON.parse(place));
    charts.append(html("div", {}, html("h3", {}, title), intervalChart(title, labels, series, largest)));
  }
  const section = html("section", { class: "scenario" }, html("h2", {}, scenario));
  if (parameters.length > 0) {
    const keys = parameters.map(({ key }) => key).join(", ");
    section.append(html("p", { class: "hint" }, `Below each chart: ${keys}`));
  }
  section.append(charts);
  for (const { scheme, refused } of own.filter((group) => group.refused !== null)) {
    section.append(html("p", { class: "refused" }, `${scheme} cannot hold here: ${refused}`));
  }
  byId("scenarios").append(section);
}

const headings = ["scenario", ...parameters.map(({ key }) => key), "scheme", "runs"];
const head = html(
  "tr",
  {},
  ...headings.map((heading) => html("th", {}, heading)),
  ...figures.map(({ title }) => html("th", { class: "number" }, title)),
);
const cell = (figure) => {
  if (figure === null || figure === undefined) return "-";
  const { mean, low, high } = figure;
  return low === null ? plain(mean) : `${plain(mean)} (${plain(low)} to ${plain(high)})`;
};
const rows = groups.map((group) =>
  html(
    "tr",
    {},
    ...[group.scenario, ...valuesOf(group), group.scheme, count(group.runs)].map((text) => html("td", {}, text)),
    ...figures.map(({ key }) => html("td", { class: "number" }, cell(group.figures?.[key]))),
  ),
);
byId("figures-table").append(html("table", {}, html("thead", {}, head), html("tbody", {}, ...rows)));
