// Questions to the server, each with the token of the page's address.

const token = new URLSearchParams(location.search).get("token") ?? "";

/** A name for this tab, so that undo takes back its own answers. */
export const who = (() => {
  const kept = sessionStorage.getItem("altopt-who");
  const name = kept ?? Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  sessionStorage.setItem("altopt-who", name);
  return name;
})();

async function answerOf(response) {
  const said = await response.json();
  if (response.ok) return said;
  throw new Error(typeof said.detail === "string" ? said.detail : "The server refused this.");
}

export async function get(path, parameters = {}) {
  const query = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== null && value !== ""));
  return answerOf(await fetch(`/api/${path}?${query}`, { headers: { Authorization: `Bearer ${token}` } }));
}

export async function post(path, body) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return answerOf(await fetch(`/api/${path}`, { method: "POST", headers, body: JSON.stringify({ ...body, who }) }));
}

export const download = (name) => `/api/export/${name}.csv?token=${encodeURIComponent(token)}`;
