// What all views share: elements, numbers and requests with a token.

/** Make an element. Texts are always set as text, so nothing a caller wrote is read as markup. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export const count = (n) => (n === null || n === undefined ? "–" : Number(n).toLocaleString("en"));
export const decimal = (x, digits = 3) => (x === null || x === undefined || !Number.isFinite(x) ? "–" : Number(x).toPrecision(digits).replace(/\.?0+$/, (z) => (z.includes(".") ? "" : z)));
export const percent = (x) => (x === null || x === undefined ? "–" : `${(100 * x).toFixed(1)} %`);
export const idText = (id) => (id !== null && typeof id === "object" ? `bytes ${id.bytes}` : String(id));

export function say(text) { document.getElementById("said").textContent = text; }

const KEY = "tarry-token";
export const token = {
  get: () => sessionStorage.getItem(KEY),
  set: (text) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

/** A refusal of the API: the sentence of the problem details. */
export class Refused extends Error {
  constructor(status, detail) { super(detail); this.status = status; }
}

export async function request(path, { method = "GET", body, signal } = {}) {
  const headers = { authorization: `Bearer ${token.get() ?? ""}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({}));
    throw new Refused(answer.status, problem.detail ?? `the server answered ${answer.status}`);
  }
  return answer;
}

export const json = async (path, options) => (await request(path, options)).json();

export function table(caption, columns, rows) {
  const head = element("tr", {}, columns.map(([title, kind]) => element("th", { scope: "col", class: kind === "number" ? "number" : null }, title)));
  const body = rows.map((cells) => element("tr", {}, cells.map((cell, i) =>
    i === 0 ? element("th", { scope: "row" }, cell ?? "–") : element("td", { class: columns[i][1] === "number" ? "number" : null }, cell ?? "–"))));
  return element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", {}, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, body)));
}

export function figures(pairs) {
  return element("dl", { class: "figures" }, pairs.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))));
}

export function card(title, ...children) {
  return element("section", { class: "card", "aria-label": title }, element("h2", {}, title), ...children);
}
