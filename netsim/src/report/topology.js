// The picture of the network: who is linked to whom, how busy the links were, what is down, and the
// deadlock.

// Fills the topology section.
function drawTopology(outcome, plot, side) {
  const { topology, deadlock } = outcome;
  if (topology.nodes.length === 0) {
    plot.append(nothing("The topology was not recorded."));
    return;
  }
  // Many nodes get the whole width; what stands beside a small picture stands below theirs.
  const isLarge = topology.nodes.length > 60;
  plot.parentElement.classList.toggle("wide", isLarge);
  const hops = cycleHops(topology, deadlock);
  const draw = () =>
    plot.replaceChildren(picture(outcome, layOut(topology, Math.max(240, plot.clientWidth)), hops));
  draw();
  watchWidth(plot, draw);
  side.append(key(topology, deadlock));
  if (deadlock) side.append(hopList(deadlock));
}

// The link over which each hop of the cycle waits to send, and whether that is from its first end.
function cycleHops(topology, deadlock) {
  const hops = [];
  for (const hop of deadlock?.cycle ?? []) {
    const end = `${hop.switch}:${hop.output}`;
    const link = topology.links.findIndex(({ ends }) => ends.includes(end));
    if (link >= 0) hops.push({ link, isForward: topology.links[link].ends[0] === end, hop });
  }
  return hops;
}

function picture(outcome, laid, hops) {
  const { nodes, links, width, height } = laid;
  const text = contentsOf(outcome.topology).join(", ");
  const root = svg("svg", {
    class: "network",
    role: "img",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    "aria-label": text,
  });
  spreadParallels(links);
  const isSmall = links.length <= 24;
  const cycleNodes = new Set();
  // What is down must be seen among many.
  const inOrder = [...links].sort((a, b) => a.is_down - b.is_down);
  inOrder.forEach((link) => root.append(drawLink(link, outcome.duration_ps, isSmall)));
  hops.forEach(({ link, isForward, hop }, n) => {
    const found = links.find((candidate) => candidate.ends === outcome.topology.links[link].ends);
    if (!found) return;
    cycleNodes.add(found.from).add(found.to);
    // A cycle may wait both ways on one link; the ways are then drawn beside each other.
    const isBoth = hops.some((other) => other.link === link && other.isForward !== isForward);
    root.append(...drawHop(found, isForward, isBoth ? 5 : 0, hop, n));
  });
  if (isSmall && laid.isFlat)
    links.forEach((link) => root.append(...portNumbers(link, { x: width / 2, y: height / 2 })));
  nodes.forEach((node) => root.append(drawNode(node, nodes.length, cycleNodes.has(node))));
  return root;
}

// Links between the same two nodes stand beside each other.
function spreadParallels(links) {
  const groups = new Map();
  for (const link of links) {
    const key = [link.from.index, link.to.index].sort((a, b) => a - b).join();
    groups.set(key, [...(groups.get(key) ?? []), link]);
  }
  for (const group of groups.values())
    group.forEach((link, n) => {
      link.shift = (n - (group.length - 1) / 2) * 12;
    });
}

// A link's ends in the picture, moved by `sideways` to the right of its way from one to the other.
function endsOf({ from, to, shift }, sideways) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  // Parallel links are sorted by one direction, whichever way each was written.
  const sign = from.index <= to.index ? 1 : -1;
  const by = shift * sign + sideways;
  const [nx, ny] = [-(to.y - from.y) / length, (to.x - from.x) / length];
  return { x1: px(from.x + nx * by), y1: px(from.y + ny * by), x2: px(to.x + nx * by), y2: px(to.y + ny * by) };
}

function wayOf(link, x1, y1, x2, y2) {
  return link.bend === 0
    ? `M${x1} ${y1}L${x2} ${y2}`
    : `M${x1} ${y1}Q${px((x1 + x2) / 2)} ${px(y1 + 2 * link.bend)} ${x2} ${y2}`;
}

function drawLink(link, duration, isSmall) {
  const shares = link.bytes.map((bytes) => Math.min(1, ratio(rate(bytes, duration), link.bits_per_second)));
  const busiest = Math.max(...shares);
  const width = px(link.is_down ? 1.5 : isSmall ? 1.2 + busiest * 3.5 : 0.4 + busiest * 1.2);
  const state = link.is_down ? "down" : "up";
  const words =
    `${link.ends[0]} to ${link.ends[1]}, ${rateText(link.bits_per_second)}` +
    (link.is_down ? ", down at the end" : "") +
    `: ${shareText(shares[0])} busy there, ${shareText(shares[1])} back`;
  const { x1, y1, x2, y2 } = endsOf(link, 0);
  const d = wayOf(link, x1, y1, x2, y2);
  return svg("path", { class: `link ${state}`, "stroke-width": width, d }, svg("title", {}, words));
}

// A hop of the cycle: red, with an arrow the way the frames cannot go.
function drawHop(link, isForward, sideways, hop, n) {
  const ends = endsOf(link, isForward ? sideways : -sideways);
  const [x1, y1, x2, y2] = isForward
    ? [ends.x1, ends.y1, ends.x2, ends.y2]
    : [ends.x2, ends.y2, ends.x1, ends.y1];
  const angle = (Math.atan2(y2 - y1, x2 - x1) * 180) / Math.PI;
  // Beyond the middle, so that the arrows of two hops which lead to and fro stand apart.
  const part = link.bend === 0 ? 0.62 : 0.5;
  const [x, y] = [px(x1 + (x2 - x1) * part), px(y1 + (y2 - y1) * part + link.bend)];
  const waiting = `${sizeText(hop.bytes)} at ${hop.switch} wait to leave by port ${hop.output}`;
  const words = `Hop ${n + 1} of the deadlock: ${waiting}`;
  return [
    svg("path", { class: "cycle", "data-hop": n, d: wayOf(link, x1, y1, x2, y2) }, svg("title", {}, words)),
    svg("path", {
      class: "cycle-arrow",
      d: "M-7 -6.5L8 0L-7 6.5Z",
      transform: `translate(${x} ${y}) rotate(${px(angle)})`,
    }),
  ];
}

// Small numbers of ports where a link leaves its switches, on the side away from the middle of the
// picture.
function portNumbers(link, middle) {
  const sides = [endsOf(link, 9), endsOf(link, -9)];
  const distance = ({ x1, y1, x2, y2 }) => Math.hypot((x1 + x2) / 2 - middle.x, (y1 + y2) / 2 - middle.y);
  const { x1, y1, x2, y2 } = distance(sides[0]) > distance(sides[1]) ? sides[0] : sides[1];
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const numbers = link.ends.map((end, n) => ({
    n,
    port: /:(\d+)$/.exec(end)?.[1],
    node: n === 0 ? link.from : link.to,
  }));
  return numbers
    .filter(({ port, node }) => port && !node.is_host)
    .map(({ n, port, node }) => {
      // Out of the box of the node, which is wider than high.
      const [ux, uy] = [Math.abs(x2 - x1) / length, Math.abs(y2 - y1) / length];
      const out =
        Math.min((boxOf(node).width / 2 + 9) / Math.max(ux, 0.01), (11 + 9) / Math.max(uy, 0.01)) / length;
      const part = n === 0 ? Math.min(0.45, out) : 1 - Math.min(0.45, out);
      return svg(
        "text",
        {
          class: "port",
          x: px(x1 + (x2 - x1) * part),
          y: px(y1 + (y2 - y1) * part + 3),
          "text-anchor": "middle",
        },
        port,
      );
    });
}

function boxOf(node) {
  const text = shorten(node.name, 14);
  return { text, width: Math.max(26, widthOf(text, NODE_TEXT) + 14) };
}

function drawNode(node, nodes, isInCycle) {
  const group = svg(
    "g",
    { class: `node ${node.is_host ? "host" : "switch"} ${isInCycle ? "in-cycle" : ""}` },
    svg("title", {}, node.name),
  );
  const [x, y] = [px(node.x), px(node.y)];
  if (node.is_host) {
    group.append(svg("circle", { cx: x, cy: y, r: nodes > 60 ? 3 : 5 }), ...hostLabel(node, nodes));
    return group;
  }
  const { text, width } = boxOf(node);
  const hasRoom = node.angle !== undefined ? nodes <= 60 : width + 6 < node.pitch;
  if (hasRoom) {
    group.append(
      svg("rect", { x: px(node.x - width / 2), y: px(node.y - 11), width: px(width), height: 22, rx: 4 }),
      svg("text", { x, y: px(node.y + 4), "text-anchor": "middle" }, text),
    );
    return group;
  }
  group.append(svg("rect", { x: px(node.x - 4.5), y: px(node.y - 4.5), width: 9, height: 9, rx: 1.5 }));
  // Those of the cycle are named even where there is no room for all.
  if (isInCycle) {
    const [dx, dy] =
      node.angle === undefined ? [0, -13] : [Math.cos(node.angle) * 18, Math.sin(node.angle) * 18];
    group.append(
      svg(
        "text",
        { class: "beside", x: px(node.x + dx), y: px(node.y + dy + 4), "text-anchor": "middle" },
        text,
      ),
    );
  }
  return group;
}

function hostLabel(node, nodes) {
  const text = shorten(node.name, 14);
  if (node.angle !== undefined) {
    if (nodes > 60) return [];
    const [cos, sin] = [Math.cos(node.angle), Math.sin(node.angle)];
    const anchor = Math.abs(cos) < 0.3 ? "middle" : cos > 0 ? "start" : "end";
    const y = node.y + sin * 13 + (anchor === "middle" ? (sin > 0 ? 8 : -1) : 4);
    return [
      svg(
        "text",
        { x: px(node.x + (anchor === "middle" ? 0 : cos * 11)), y: px(y), "text-anchor": anchor },
        text,
      ),
    ];
  }
  if (widthOf(text, NODE_TEXT) + 8 < node.pitch) {
    return [svg("text", { x: px(node.x), y: px(node.y + 18), "text-anchor": "middle" }, text)];
  }
  if (node.pitch < 13) return [];
  const at = `translate(${px(node.x + 4)} ${px(node.y + 10)}) rotate(90)`;
  return [svg("text", { transform: at, "text-anchor": "start" }, text)];
}
