// Where nodes of the topology stand: in rows by their level, or on a circle where there are no
// levels.

const NODE_TEXT = 11;
const HOST_PITCH = 8;

// Nodes with `x` and `y`, links with their nodes, and the size of the picture, at most `room` wide
// if it fits.
function layOut(topology, room) {
  const nodes = topology.nodes.map((node, index) => ({ ...node, index, neighbors: [] }));
  const links = topology.links
    .filter(({ nodes: ends }) => ends.every((end) => nodes[end] !== undefined))
    .map((link) => ({ ...link, from: nodes[link.nodes[0]], to: nodes[link.nodes[1]] }));
  for (const { from, to } of links) {
    from.neighbors.push(to);
    to.neighbors.push(from);
  }
  const switches = nodes.filter((node) => !node.is_host);
  const isFlat = switches.length >= 3 && switches.every((node) => node.level === switches[0].level);
  const size = isFlat ? circle(nodes, switches, room) : rows(nodes, room);
  // Links within a row go round the nodes between their ends.
  for (const link of links) {
    const apart = isFlat || link.from.y !== link.to.y ? 0 : Math.abs(link.from.place - link.to.place);
    link.bend = apart > 1 ? -20 - 8 * Math.min(apart, 8) : 0;
  }
  return { nodes, links, isFlat, ...size };
}

// The order in which switches stand on the circle: from each to a neighbor not yet placed, so that
// a ring is a ring.
function ringOrder(switches) {
  const left = new Set(switches);
  const order = [];
  let node = switches[0];
  while (node) {
    order.push(node);
    left.delete(node);
    const free = (of) => of.neighbors.filter((next) => left.has(next));
    const next = free(node).sort((a, b) => free(a).length - free(b).length || a.index - b.index);
    node = next[0] ?? [...left][0];
  }
  return order;
}

function hostsOf(nodes) {
  const hosts = new Map();
  for (const host of nodes.filter((node) => node.is_host)) {
    const parent = host.neighbors.find((node) => !node.is_host) ?? null;
    hosts.set(parent, [...(hosts.get(parent) ?? []), host]);
  }
  return hosts;
}

function circle(nodes, switches, room) {
  const order = ringOrder(switches);
  const hosts = hostsOf(nodes);
  const mostHosts = Math.max(1, ...order.map((node) => hosts.get(node)?.length ?? 0));
  const isSmall = order.length <= 16;
  let inner = Math.max(isSmall ? 125 : 200, (order.length * (isSmall ? 84 : 18)) / (2 * Math.PI));
  let outer = Math.max(
    inner + (isSmall ? 82 : 46),
    (order.length * mostHosts * (isSmall ? 30 : HOST_PITCH)) / (2 * Math.PI),
  );
  const labelled = nodes.filter((node) => node.is_host).every((host) => widthOf(host.name, NODE_TEXT) < 110);
  const labelRoom =
    isSmall && labelled
      ? Math.max(
          20,
          ...nodes.filter((node) => node.is_host).map((host) => widthOf(shorten(host.name, 14), NODE_TEXT)),
        )
      : isSmall
        ? 96
        : 10;
  // A phone has room for a smaller circle, down to where names would meet.
  const fits = Math.max(
    isSmall && order.length > 8 ? 1 : 0.6,
    Math.min(1, ratio(room / 2 - labelRoom - 14, outer)),
  );
  inner *= fits;
  outer *= fits;
  const place = (node, angle, radius) =>
    Object.assign(node, {
      x: Math.cos(angle) * radius,
      y: Math.sin(angle) * radius,
      angle,
    });
  const sector = (2 * Math.PI) / order.length;
  order.forEach((node, n) => {
    const angle = -Math.PI / 2 + n * sector;
    place(node, angle, inner);
    const own = hosts.get(node) ?? [];
    const between = Math.min(sector / Math.max(1, own.length), isSmall ? 0.45 : sector);
    own.forEach((host, m) => place(host, angle + (m - (own.length - 1) / 2) * between, outer));
  });
  const strays = hosts.get(null) ?? [];
  strays.forEach((host, n) =>
    Object.assign(host, { x: (n - (strays.length - 1) / 2) * 40, y: outer + 40, angle: 1.57 }),
  );
  return fit(nodes, { side: labelRoom + 14, above: 26, room });
}

function rows(nodes, room) {
  const levels = [];
  for (const node of nodes) (levels[node.is_host ? 0 : Math.max(1, node.level)] ??= []).push(node);
  const filled = levels.map((level) => level ?? []);
  for (let level = 2; level < filled.length; level += 1) sortBelow(filled[level], filled[level - 1] ?? []);
  sortBelow(filled[0] ?? [], filled[1] ?? []);
  const widest = Math.max(1, ...filled.map((level) => level.length));
  const side = widest * HOST_PITCH > room - 100 ? 12 : 50;
  const width = Math.max(room - 2 * side, widest * HOST_PITCH);
  const height = Math.max(92, Math.min(120, width / 9));
  let y = 0;
  for (const level of [...filled].reverse().filter((level) => level.length > 0)) {
    const pitch = Math.min(width / level.length, hasOwnLinks(level) ? 220 : 140);
    level.forEach((node, n) =>
      Object.assign(node, { x: (n - (level.length - 1) / 2) * pitch, y, pitch, place: n }),
    );
    y += height;
  }
  const lowest = filled[0] ?? [];
  const turned = lowest.length > 0 && !lowest.every((host) => widthOf(host.name, NODE_TEXT) + 8 < host.pitch);
  const below =
    turned && lowest[0].pitch >= 13
      ? Math.max(...lowest.map((host) => widthOf(shorten(host.name, 14), NODE_TEXT)))
      : 14;
  return fit(nodes, { side, above: 22, below: below + 16, room });
}

function hasOwnLinks(level) {
  const own = new Set(level);
  return level.some((node) => node.neighbors.some((next) => own.has(next)));
}

// Sorts a row by where its neighbors of the `other` row stand on average, so that few links cross.
function sortBelow(row, other) {
  const places = new Map(other.map((node, n) => [node, n]));
  const middles = new Map(
    row.map((node, n) => {
      const at = node.neighbors.map((next) => places.get(next)).filter((place) => place !== undefined);
      return [node, at.length > 0 ? at.reduce((sum, place) => sum + place, 0) / at.length : n];
    }),
  );
  row.sort((a, b) => middles.get(a) - middles.get(b) || a.index - b.index);
}

// Moves all nodes so that they begin at the margins, in the middle of `room` if they are narrower.
function fit(nodes, { side, above, below = above, room }) {
  if (nodes.length === 0) return { width: 0, height: 0 };
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const extent = Math.max(...xs) - Math.min(...xs) + 2 * side;
  const width = Math.max(extent, room);
  const [dx, dy] = [side - Math.min(...xs) + (width - extent) / 2, above - Math.min(...ys)];
  for (const node of nodes) Object.assign(node, { x: node.x + dx, y: node.y + dy });
  return { width: Math.ceil(width), height: Math.ceil(Math.max(...ys) - Math.min(...ys) + above + below) };
}
