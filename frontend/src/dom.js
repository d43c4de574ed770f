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

/** Replace what an element holds. Focus that was inside stays with what has the same data-focus, or goes to `otherwise`. */
export function refresh(place, content, otherwise = "button") {
  const held = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(content);
  if (!held || place.contains(document.activeElement)) return;
  const same = [...place.querySelectorAll("[data-focus]")].find((each) => each.dataset.focus === held.dataset.focus);
  (same ?? place.querySelector(otherwise))?.focus();
}

export const number = (value) => value.toLocaleString("en");
export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits).replace(/^-(?=0(\.0*)?$)/, "")} %`; // no "-0.0 %"

/** The square of a class's colour before its name. */
export function swatch(colour) {
  return h("span", { class: "swatch", style: { background: colour }, "aria-hidden": "true" });
}
