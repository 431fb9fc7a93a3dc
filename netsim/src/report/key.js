// What the signs of the topology's picture mean, and the deadlock's cycle in words.

// How many switches, hosts and links there are, in words.
function contentsOf({ nodes, links }) {
  const hosts = nodes.filter((node) => node.is_host).length;
  return [
    things(nodes.length - hosts, "switch", "switches"),
    things(hosts, "host", "hosts"),
    things(links.length, "link", "links"),
  ];
}

const SIGNS = {
  switch: () => [svg("g", { class: "node switch" }, svg("rect", { x: 7, y: 1, width: 16, height: 12, rx: 3 }))],
  host: () => [svg("g", { class: "node host" }, svg("circle", { cx: 15, cy: 7, r: 4.5 }))],
  up: () => [svg("path", { class: "link up", "stroke-width": 3, d: "M2 7H28" })],
  down: () => [svg("path", { class: "link down", "stroke-width": 1.5, d: "M2 7H28" })],
  hop: () => [
    svg("path", { class: "cycle", d: "M2 7H28" }),
    svg("path", { class: "cycle-arrow", d: "M-6 -5L7 0L-6 5Z", transform: "translate(15 7)" }),
  ],
};

function entryOf(sign, text) {
  const size = { viewBox: "0 0 30 14", width: 30, height: 14 };
  const picture = svg("svg", { class: "sign", ...size, "aria-hidden": "true" }, ...SIGNS[sign]());
  return html("li", {}, picture, html("span", {}, text));
}

// What the signs mean, only those that occur.
function key(topology, deadlock) {
  const [switches, hosts, links] = contentsOf(topology);
  const rates = new Set(topology.links.map((link) => link.bits_per_second));
  const speed = rates.size === 1 ? ` of ${rateText([...rates][0])}` : "";
  const down = topology.links.filter((link) => link.is_down).length;
  const entries = [entryOf("switch", switches), entryOf("host", hosts)];
  entries.push(entryOf("up", `${links}${speed}, the busier the wider`));
  if (down > 0) entries.push(entryOf("down", `${count(down)} down at the end`));
  if (deadlock) entries.push(entryOf("hop", "deadlock: frames wait to go this way"));
  return html("ul", { class: "key" }, ...entries);
}

// The cycle in words, with what waits in each place.
function hopList(deadlock) {
  const rows = deadlock.cycle.map((hop) =>
    html(
      "li",
      {},
      html("span", { class: "label", title: hop.switch }, shorten(hop.switch, 20)),
      html("span", { class: "value" }, sizeText(hop.bytes)),
      html(
        "span",
        { class: "detail" },
        `in by port ${hop.input}, priority ${hop.input_priority}; to leave by port ${hop.output}, ` +
          `priority ${hop.output_priority}`,
      ),
    ),
  );
  return html(
    "div",
    { class: "hops" },
    html("p", { class: "side-head" }, "bytes that wait"),
    html("ol", {}, ...rows),
  );
}
