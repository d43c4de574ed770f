// Elements from names, attributes and children; a child that is no element is text, never markup.

export function h(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "style") for (const [name, to] of Object.entries(value)) made.style.setProperty(name, to);
    else if (value === true) made.setAttribute(key, "");
    else made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export const number = (value) => value.toLocaleString("en");
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "")} %`; // no "-0.0 %"

/** The square of a class's colour before its name. */
export function swatch(colour) {
  return h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" });
}
