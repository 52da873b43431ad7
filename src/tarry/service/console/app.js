// Routes by the part of the address behind #, the overview, and the question for a token.
import { count, decimal, element, json, percent, Refused, say, table, token } from "./page.js";
import { showObject } from "./object.js";
import { showPlanner } from "./plan.js";

const main = document.getElementById("main");
const signOut = document.getElementById("sign-out");
let leaving = new AbortController();

const ROUTES = [
  [/^#\/(?:\?.*)?$/, "Overview", showOverview],
  [/^#\/(joins|sessions)\/([^/?]+)$/, null, (place, signal, kind, name) => showObject(place, signal, kind, decoded(name))],
  [/^#\/plan$/, "Planner", showPlanner],
];

async function route() {
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  const address = location.hash || "#/";
  signOut.hidden = !token.get();
  for (const link of document.querySelectorAll("nav a")) {
    const isHere = address.split("?")[0] === link.getAttribute("href");
    if (isHere) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  if (!token.get()) { askForToken(); return; }
  for (const [pattern, title, show] of ROUTES) {
    const found = address.match(pattern);
    if (!found) continue;
    document.title = title ? `${title} · Tarry` : `${decoded(found[2])} · Tarry`;
    main.replaceChildren();
    say("");
    try {
      await show(main, signal, ...found.slice(1));
    } catch (error) {
      if (!signal.aborted) refuse(error);
    }
    return;
  }
  location.hash = "#/";
}

/** The name in an address; what is no encoding stands for itself, and nothing is called so. */
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

function refuse(error) {
  if (error instanceof Refused && error.status === 401) {
    token.forget();
    askForToken("The server does not know this token.");
    return;
  }
  main.replaceChildren(element("h1", {}, "This did not work"), element("p", { class: "error", role: "alert" }, error.message), element("p", {}, element("a", { href: "#/" }, "To the overview")));
}

function askForToken(why) {
  const field = element("input", { type: "password", id: "token", autocomplete: "off", required: true, size: 40 });
  const form = element("form", { onsubmit: (event) => { event.preventDefault(); token.set(field.value.trim()); route(); } },
    element("p", {}, element("label", { for: "token" }, "Token"), field), element("button", { class: "main", type: "submit" }, "Continue"));
  main.replaceChildren(element("h1", {}, "Give a token"),
    why ? element("p", { class: "error", role: "alert" }, why) : null ?? "",
    element("p", {}, "tarry serve prints one when it first starts; tarry token new makes others. It is kept in this tab until the tab is closed."), form);
  field.focus();
}

async function showOverview(place, signal) {
  const parts = { joins: element("div"), sessions: element("div") };
  place.append(element("h1", {}, "Overview"), parts.joins, parts.sessions);
  const refresh = async () => {
    for (const kind of ["joins", "sessions"]) {
      const items = [];
      for (let after = ""; after !== null;) {
        const listed = await json(`/v1/${kind}${after && `?after=${encodeURIComponent(after)}`}`, { signal });
        items.push(...listed.items);
        after = items.length >= 1000 ? null : listed.next;
      }
      if (signal.aborted) return;
      if (!items.length && parts[kind].querySelector(".command")) continue;  // a button that is in use stays
      parts[kind].replaceChildren(element("h2", {}, kind === "joins" ? "Joins" : "Sessions"), items.length ? listing(kind, items) : nothing(kind));
    }
  };
  await refresh();
  place.focus();
  const timer = setInterval(() => { if (!document.hidden) refresh().catch((error) => { if (!signal.aborted) say(error.message); }); }, 2000);
  signal.addEventListener("abort", () => clearInterval(timer));
}

function copying(text) {
  const button = element("button", { type: "button", onclick: () => copy() }, "Copy");
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };
  return button;
}

function nothing(kind) {
  const command = kind === "joins" ? `curl -H "Authorization: Bearer $T" -d '{"capacity": 64}' ${location.origin}/v1/joins/clicks` : `curl -H "Authorization: Bearer $T" -d '{"domain": {"type": "Ball", "dimension": 2}, "player": {"learner": {"type": "DWFTRL", "rate": 0.5}}, "capacity": 8}' ${location.origin}/v1/sessions/main`;
  return element("div", {}, element("p", { class: "quiet" }, `There are no ${kind} yet. One is made so:`), element("pre", { class: "command" }, command), ...(navigator.clipboard ? [copying(command)] : []));  // browsers have one on safe addresses only
}

function listing(kind, items) {
  const isJoin = kind === "joins";
  const columns = [["Name"], ["Slots held", "number"], [isJoin ? "Decisions" : "Rounds", "number"], ["Used", "number"], ["Pending", "number"]];
  if (isJoin) columns.push(["Mean label (95 %)", "number"], ["Seen only", "number"]);
  columns.push(["Warnings", "number"]);
  const rows = items.map(({ name, status, problem }) => {
    const link = element("a", { href: `#/${kind}/${encodeURIComponent(name)}` }, name);
    if (!status) return [link, problem, ...columns.slice(2).map(() => "–")];
    const held = `${count(status.tracked)} of ${status.capacity === null ? "any" : count(status.capacity)}`;
    const row = [link, held, count(status.rounds), percent(status.rounds ? status.fates.used / status.rounds : null), count(status.pending)];
    if (isJoin) row.push(interval(status.estimate), decimal(status.estimate?.naive));
    return [...row, count(status.warnings.length)];
  });
  return table(isJoin ? "Late labels joined with their decisions" : "Plays whose feedback comes late", columns, rows);
}

const interval = (estimate) => (estimate && estimate.mean !== null ? `${decimal(estimate.mean)} (${decimal(estimate.low)} to ${decimal(estimate.high)})` : "–");

signOut.addEventListener("click", () => { token.forget(); route(); });
addEventListener("hashchange", route);
route();
