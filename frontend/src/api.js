// Questions to the server, each with the token of the page's address.

const token = new URLSearchParams(location.search).get("token") ?? "";

/** The name of this tab, so that undo takes back its own answers. */
export let who = "";

/** Take the name that this tab had before it was loaded again; a new one in a copy of a tab that is open still. */
export async function named() {
  const kept = sessionStorage.getItem("altopt-who");
  who = kept && (await held(kept)) ? kept : Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (who !== kept) await held(who);
  sessionStorage.setItem("altopt-who", who);
}

/** Hold a name for as long as this page is open; false where another tab holds it. */
function held(name) {
  if (!navigator.locks) return Promise.resolve(false);
  return new Promise((resolve) => {
    navigator.locks.request(`altopt-${name}`, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise(() => {});
    });
  });
}

async function answerOf(response) {
  const said = await response.json();
  if (response.ok) return said;
  const error = new Error(typeof said.detail === "string" ? said.detail : "The server refused this.");
  throw Object.assign(error, { otherModel: response.status === 409 });
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
