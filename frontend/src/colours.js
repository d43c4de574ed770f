// Colours as the page has them, light or dark, and a class's colour faded by doubt.

const dark = window.matchMedia("(prefers-color-scheme: dark)");

const PAPER = { "--ink": "#000000", "--paper": "#ffffff", "--line": "#cccccc", "--edge": "#dddddd" };
let printing = false;

/** Do something with the colours of paper. */
export function onPaper(act) {
  printing = true;
  act();
  printing = false;
}

export function variable(name) {
  if (printing) return PAPER[name];
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function onScheme(repaint, signal) {
  dark.addEventListener("change", repaint, { signal });
}

function channels(hex) {
  const value = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  return [1, 3, 5].map((at) => parseInt(value.slice(at, at + 2), 16));
}

/** `share` of one colour, the rest of the other. */
export function mix(colour, other, share) {
  const [a, b] = [channels(colour), channels(other)];
  const mixed = a.map((part, k) => Math.round(share * part + (1 - share) * b[k]));
  return "#" + mixed.map((part) => part.toString(16).padStart(2, "0")).join("");
}

/** A node's colour: its class's, paler the more it is in doubt (0 to 1). */
export function faded(colour, doubt) {
  return mix(colour, variable("--paper"), 1 - 0.72 * Math.min(1, doubt));
}
