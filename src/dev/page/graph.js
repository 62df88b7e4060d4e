// The picture of a graph: layers from top to bottom, in SVG.

const MOST_NODES = 400;
const HEIGHT = 30;
const GAP = { x: 26, y: 44 };
const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const isEnd = (id) => /(^|:)__(start|end)__$/.test(id);
const labelOf = (id) => (isEnd(id) ? id.replace(/.*__(\w+)__$/, "$1") : id.split(":").at(-1));
const groupOf = (id) => id.split(":").slice(0, -1).join(" › ");

/** The nodes in layers, and the edges as chains through them; an edge against the direction is turned around. */
function layered(ids, edges) {
  const out = new Map(ids.map((id) => [id, []]));
  for (const edge of edges) out.get(edge.source).push(edge);
  // Depth first, from the start: an edge to a node that is still open closes a cycle.
  const state = new Map();
  const order = [];
  for (const root of [...ids].sort((a, b) => isEnd(b) - isEnd(a))) {
    const stack = [[root, 0]];
    if (state.has(root)) continue;
    state.set(root, "open");
    while (stack.length) {
      const top = stack.at(-1);
      const edge = out.get(top[0])[top[1]++];
      if (!edge) {
        state.set(top[0], "done");
        order.unshift(top[0]);
        stack.pop();
      } else if (!state.has(edge.target)) {
        state.set(edge.target, "open");
        stack.push([edge.target, 0]);
      } else edge.back = state.get(edge.target) === "open";
    }
  }
  const layer = new Map(ids.map((id) => [id, 0]));
  for (const id of order) {
    for (const { target, back } of out.get(id)) if (!back) layer.set(target, Math.max(layer.get(target), layer.get(id) + 1));
  }
  const layers = [];
  const place = (item, at) => (layers[at] ??= []).push(item);
  const items = new Map(ids.map((id) => [id, { id, above: [], below: [] }]));
  for (const id of order) place(items.get(id), layer.get(id));
  const chains = [];
  for (const edge of edges.filter(({ source, target }) => source !== target)) {
    const [upper, lower] = edge.back ? [edge.target, edge.source] : [edge.source, edge.target];
    const chain = [items.get(upper)];
    for (let at = layer.get(upper) + 1; at < layer.get(lower); at++) {
      const bend = { above: [], below: [] };
      place(bend, at);
      chain.push(bend);
    }
    chain.push(items.get(lower));
    chain.slice(1).forEach((item, at) => (chain[at].below.push(item), item.above.push(chain[at])));
    chains.push({ edge, chain });
  }
  return { layers: layers.filter(Boolean), chains };
}

const mean = (items, otherwise) => (items.length ? items.reduce((sum, { x }) => sum + x, 0) / items.length : otherwise);

/** Sets the places of all items: order by the mean of the neighbours, then each as near to that mean as its row lets it. */
function arrange(layers) {
  for (const layer of layers) for (const item of layer) item.width = item.id ? Math.max(64, 7.3 * Math.max(labelOf(item.id).length, 0.85 * groupOf(item.id).length) + 24) : 8;
  for (const layer of layers) layer.forEach((item, at) => (item.x = at));
  for (let round = 0; round < 12; round++) {
    const down = round % 2 === 0;
    for (const layer of down ? layers : [...layers].reverse()) {
      for (const item of layer) item.wish = mean(down ? item.above : item.below, item.x);
      layer.sort((a, b) => a.wish - b.wish).forEach((item, at) => (item.x = at));
    }
  }
  const space = (a, b) => (a.width + b.width) / 2 + GAP.x;
  for (const layer of layers) layer.forEach((item, at) => (item.x = at ? layer[at - 1].x + space(layer[at - 1], item) : 0));
  for (let round = 0; round < 24; round++) {
    for (const layer of round % 2 ? [...layers].reverse() : layers) {
      for (const item of layer) item.wish = mean([...item.above, ...item.below], item.x);
      // Pushed apart from the left and from the right; the middle of both keeps the row around its wishes.
      const left = [];
      const right = [];
      layer.forEach((item, at) => (left[at] = at ? Math.max(item.wish, left[at - 1] + space(layer[at - 1], item)) : item.wish));
      for (let at = layer.length - 1; at >= 0; at--) {
        right[at] = at + 1 < layer.length ? Math.min(layer[at].wish, right[at + 1] - space(layer[at], layer[at + 1])) : layer[at].wish;
      }
      layer.forEach((item, at) => (item.x = (left[at] + right[at]) / 2));
    }
  }
  const least = Math.min(...layers.flat().map((item) => item.x - item.width / 2));
  layers.forEach((layer, at) => {
    for (const item of layer) Object.assign(item, { x: item.x - least + 14, y: 14 + HEIGHT / 2 + at * (HEIGHT + GAP.y) });
  });
}

/** A line through the points of a chain, from the lower side of the first to the upper side of the last. */
function line(chain, back) {
  const points = chain.map((item, at) => {
    const side = at === 0 ? HEIGHT / 2 : at === chain.length - 1 ? -HEIGHT / 2 : 0;
    // A line and its opposite are drawn beside each other.
    const shift = back && (at === 0 || at === chain.length - 1) ? Math.min(18, item.width / 4) : 0;
    return { x: item.x + shift, y: item.y + side };
  });
  if (back) points.reverse();
  const [first, ...others] = points;
  let text = `M${first.x} ${first.y}`;
  let from = first;
  for (const to of others) {
    const bend = (to.y - from.y) / 2;
    text += `C${from.x} ${from.y + bend} ${to.x} ${to.y - bend} ${to.x} ${to.y}`;
    from = to;
  }
  return { text, middle: points.length > 2 ? points[points.length >> 1] : { x: (first.x + from.x) / 2, y: (first.y + from.y) / 2 } };
}

/** Draws a graph of the server into `place`; returns the elements of its nodes by their IDs. */
function draw(place, { nodes = [], edges = [] }) {
  const ids = nodes.map(({ id }) => String(id));
  const known = new Set(ids);
  edges = edges.filter(({ source, target }) => known.has(source) && known.has(target)).map((edge) => ({ ...edge }));
  const shapes = new Map();
  if (!ids.length || ids.length > MOST_NODES) {
    const text = ids.length ? `The graph has ${ids.length} nodes, too many for a picture.` : "The graph has no picture.";
    place.replaceChildren(element("p", { className: "quiet", textContent: text }));
    return shapes;
  }
  const { layers, chains } = layered(ids, edges);
  arrange(layers);
  const all = layers.flat();
  const width = Math.max(...all.map((item) => item.x + item.width / 2)) + 30;
  const height = layers.length * (HEIGHT + GAP.y) - GAP.y + 28;
  const told = edges.map(({ source, target, conditional }) => `${labelOf(source)} to ${labelOf(target)}${conditional ? " on a condition" : ""}`);
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${ids.length} nodes. ${told.join("; ")}` });
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, svg("path", { d: "M0 0L8 4L0 8z" }));
  picture.append(svg("defs", {}, marker));
  const labels = [];
  const edge = (d, { conditional }) => picture.append(svg("path", { d, class: conditional ? "edge conditional" : "edge", "marker-end": "url(#arrow)" }));
  for (const { edge: it, chain } of chains) {
    const { text, middle } = line(chain, it.back);
    edge(text, it);
    if (it.data && String(it.data) !== labelOf(it.target)) labels.push(svg("text", { x: middle.x, y: middle.y + 4, class: "small halo" }, String(it.data).slice(0, 24)));
  }
  for (const item of all.filter(({ id }) => id)) {
    const { id, x, y, width } = item;
    for (const own of edges.filter(({ source, target }) => source === id && target === id)) {
      edge(`M${x + width / 2} ${y - 7}c22 -8 22 22 0 14`, own);
    }
    const group = groupOf(id);
    const shape = svg("g", { class: isEnd(id) ? "end" : "node", "data-node": id }, svg("title", {}, id));
    shape.append(svg("rect", { x: x - width / 2, y: y - HEIGHT / 2, width, height: HEIGHT, rx: isEnd(id) ? HEIGHT / 2 : 7 }));
    shape.append(svg("text", { x, y: y + (group ? 10 : 4) }, labelOf(id)));
    if (group) shape.append(svg("text", { x, y: y - 4, class: "small" }, group));
    picture.append(shape);
    shapes.set(id, shape);
  }
  picture.append(...labels);
  place.replaceChildren(picture);
  return shapes;
}
