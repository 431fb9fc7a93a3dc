// Making elements. Text is always set as text: a name from a scenario is never read as HTML.

// Taken from the page's own picture, so that no address stands anywhere in the page.
const SVG = document.querySelector("svg").namespaceURI;

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// An HTML element; children are elements, or strings that become text.
function html(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// An SVG element.
function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

const byId = (id) => document.getElementById(id);

// A coordinate, short.
const px = (number) => Math.round(number * 10) / 10;

// About how wide `text` is at `size` pixels; good enough to decide whether there is room.
function widthOf(text, size) {
  return Array.from(text).length * size * 0.62;
}

// `text`, cut in its middle to `most` characters: names differ at their ends.
function shorten(text, most) {
  const characters = Array.from(text);
  if (characters.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  const head = most - 1 - tail;
  return `${characters.slice(0, head).join("")}…${characters.slice(characters.length - tail).join("")}`;
}

// Calls `draw` whenever `element` has another width, after the layout that gave it: in the middle
// of one a browser would complain.
function watchWidth(element, draw) {
  let width = element.clientWidth;
  new ResizeObserver(() =>
    requestAnimationFrame(() => {
      if (element.clientWidth === width) return;
      width = element.clientWidth;
      draw();
    }),
  ).observe(element);
}

// One line that says why there is no picture.
function nothing(text) {
  return html("p", { class: "nothing" }, text);
}
