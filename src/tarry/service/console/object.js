// A join or session as it lives, by two questions a second: slots, weights, estimate, fates, warnings, and who waits.
import { draw, onTurn } from "./charts.js";
import { card, count, decimal, element, figures, idText, json, percent, Refused, say, table } from "./page.js";

const KEPT = 400; // arrivals, estimates and stays that charts show
const LANES = 40; // stays of the timeline
const MOST_SQUARES = 256; // slots that are drawn one by one
const PAUSE = 1000; // milliseconds between two looks

export async function showObject(place, signal, kind, name) {
  const path = `/v1/${kind}/${encodeURIComponent(name)}`;
  const isJoin = kind === "joins";
  const parts = Object.fromEntries(["numbers", "slots", "weights", "estimate", "stays", "fates", "events"].map((part) => [part, element("div")]));
  for (const part of ["weights", "estimate", "stays"]) parts[part].className = "chart";
  const warnings = element("ul", { class: "warnings", "aria-label": "Warnings" });
  const stays = card("Tracking set: who waits, since when, what it weighs", parts.stays, element("p", { class: "quiet" }, "A bar is a stay in a slot. It ends in a dot when feedback came, as large as its weight, and in a cross when the slot was given up."));
  const slots = card("Slots", parts.slots);
  for (const part of [slots, stays]) part.classList.add("wide");
  place.append(element("h1", {}, name), warnings, parts.numbers, element("div", { class: "grid" }, slots,
    isJoin ? card("Mean label", parts.estimate) : null, card("Weights of arrivals", parts.weights), stays, card("What became of them", parts.fates), card("Last seen", parts.events)));
  place.focus();

  const known = { arrivals: [], means: [], stays: new Map(), calls: [] };
  let status = await json(`${path}/status`, { signal });
  const shown = () => {
    const now = Date.now();
    return [...known.stays.values()].sort((one, other) => one.from - other.from).slice(-LANES).map((stay) => ({ ...stay, until: stay.until ?? now }));
  };
  let charts = [];
  const drawAll = async () => {
    const made = [[await drawWeights(parts.weights, known.arrivals), () => known.arrivals], [await drawStays(parts.stays, shown()), shown]];
    if (isJoin) made.push([await drawMeans(parts.estimate, known.means), () => known.means]);
    charts = made;
  };
  // Of the changes that come while charts are drawn, the last is drawn next.
  let isDrawing = false, isStale = false;
  const refresh = async () => {
    isStale = true;
    if (isDrawing) return;
    isDrawing = true;
    try {
      while (isStale) { isStale = false; for (const [show, rows] of charts) await show(rows()); }
    } finally { isDrawing = false; }
  };
  const showStatus = () => {
    warnings.replaceChildren(...status.warnings.map((text) => element("li", {}, text)));
    parts.numbers.replaceChildren(figures([
      [isJoin ? "Decisions" : "Rounds", count(status.rounds)], ["Tracked", `${count(status.tracked)} of ${status.capacity === null ? "any" : count(status.capacity)}`],
      ["Pending", count(status.pending)], ["Used", count(status.fates.used)], ["Mean weight", decimal(status.weights.mean)], ["Largest weight", decimal(status.weights.max)],
      ["Effective labels", decimal(status.weights.effective_sample_size, 4)],
    ]));
    parts.slots.replaceChildren(squares(status));
    const fates = Object.entries(status.fates).map(([fate, n]) => [fate, count(n), percent(status.rounds ? n / status.rounds : null)]);
    parts.fates.replaceChildren(table("Fates, which sum to all that were begun", [["Fate"], ["Number", "number"], ["Share", "number"]], fates));
    const { estimate } = status;
    if (isJoin && estimate && estimate.mean !== null) {
      known.means.push({ at: Date.now(), mean: estimate.mean, low: estimate.low, high: estimate.high, naive: estimate.naive });
      if (known.means.length > KEPT) known.means.shift();
    }
  };
  showStatus();
  await drawAll();
  onTurn(() => drawAll(), signal);

  const takeIn = (tracked, fates) => {
    const at = Date.now();
    for (const { id: key, weight } of tracked) {
      const id = idText(key), stay = known.stays.get(id);
      if (stay) stay.weight = weight;
      else {
        known.stays.set(id, { id, key, from: at, until: null, end: "waits", weight });
        known.calls.unshift({ id, what: "waits", weight });
      }
    }
    for (const { id: key, fate } of fates) {
      const stay = known.stays.get(idText(key)), isUsed = fate === "used";
      Object.assign(stay, { until: at, end: isUsed ? "feedback" : "given up" });
      if (isUsed) known.arrivals.push({ at, weight: stay.weight, id: stay.id });
      known.calls.unshift({ id: stay.id, what: fate, weight: isUsed ? stay.weight : null });
    }
    known.arrivals.splice(0, Math.max(0, known.arrivals.length - KEPT));
    known.calls.length = Math.min(known.calls.length, 12);
    for (const [id, stay] of known.stays) {
      if (known.stays.size <= KEPT) break;
      if (stay.until !== null) known.stays.delete(id);
    }
    const rows = known.calls.map(({ id, what, weight }) => [id, what, weight ? decimal(weight) : ""]);
    parts.events.replaceChildren(table("Newest first", [["Id"], ["What became of it"], ["Weight", "number"]], rows));
  };
  const look = async () => {
    const [now, { tracked }] = await Promise.all([json(`${path}/status`, { signal }), json(`${path}/tracked?limit=${KEPT}`, { signal })]);
    const held = new Set(tracked.map(({ id }) => idText(id)));
    const ids = [...known.stays.values()].filter((stay) => stay.until === null && !held.has(stay.id)).map((stay) => stay.key);
    const { fates } = ids.length ? await json(`${path}/fate`, { method: "POST", body: { ids }, signal }) : { fates: [] };
    status = now;
    takeIn(tracked, fates);
    showStatus();
    say(`Live. ${count(status.rounds)} begun, ${count(status.fates.used)} used.`);
    refresh();
  };
  while (!signal.aborted) {
    try {
      if (!document.hidden) await look();
    } catch (error) {
      if (signal.aborted || (error instanceof Refused && error.status < 500 && error.status !== 429)) throw error;
      say("The connection is lost; trying again.");
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

function squares(status) {
  const { capacity, tracked } = status;
  const sentence = capacity === null ? `${count(tracked)} wait; there is no limit.` : `${count(tracked)} of ${count(capacity)} slots are held.`;
  if (capacity === null || capacity > MOST_SQUARES) {
    return element("div", {}, element("p", {}, sentence), capacity === null ? "" : element("meter", { min: 0, max: capacity, value: tracked, "aria-label": "Slots held" }));
  }
  return element("div", {}, element("p", {}, sentence), element("div", { class: "slots", role: "img", "aria-label": sentence }, Array.from({ length: capacity }, (_, i) => element("i", { class: i < tracked ? "held" : null }))));
}

const CLOCK = { format: "%H:%M:%S", labelOverlap: true, tickCount: 4 };
const TIME = { field: "at", type: "temporal", title: null, axis: CLOCK };

const drawWeights = (place, rows) => draw(place, "The weight of each arrival over time", rows, ({ palette }) => ({
  height: 200,
  mark: { type: "point", filled: true, size: 45, opacity: 0.7, color: palette[0] },
  encoding: { x: TIME, y: { field: "weight", type: "quantitative", title: "weight", scale: { zero: true } } },
}));

const drawMeans = (place, rows) => draw(place, "The estimated mean label with its 95 % interval, beside the mean of the labels seen", rows, ({ palette }) => ({
  height: 200,
  layer: [
    { mark: { type: "area", opacity: 0.2, color: palette[0] }, encoding: { x: TIME, y: { field: "low", type: "quantitative", title: "mean label" }, y2: { field: "high" } } },
    { transform: [{ fold: ["mean", "naive"], as: ["kind", "value"] }, { calculate: "datum.kind === 'mean' ? 'weighted, all decisions' : 'labels seen only'", as: "group" }],
      mark: { type: "line", strokeWidth: 2 },
      encoding: { x: TIME, y: { field: "value", type: "quantitative" }, color: { field: "group", type: "nominal", scale: { domain: ["weighted, all decisions", "labels seen only"], range: [palette[0], palette[1]] } }, strokeDash: { field: "group", type: "nominal", legend: null } } },
  ],
}));

const drawStays = (place, rows) => draw(place, "Stays in slots over time", rows, ({ palette, faint }) => ({
  height: { step: 11 },
  encoding: { y: { field: "id", type: "nominal", sort: { field: "from" }, title: null, axis: { labelLimit: 110, labelFontSize: 9 } } },
  layer: [
    { mark: { type: "bar", height: 4, color: faint, opacity: 0.6 }, encoding: { x: { field: "from", type: "temporal", title: null, axis: CLOCK }, x2: { field: "until" } } },
    { transform: [{ filter: "datum.end !== 'waits'" }],
      mark: { type: "point", filled: true, opacity: 1 },
      encoding: {
        x: { field: "until", type: "temporal", title: null, axis: CLOCK }, size: { field: "weight", type: "quantitative", legend: null, scale: { range: [25, 160] } },
        shape: { field: "end", type: "nominal", scale: { domain: ["feedback", "given up"], range: ["circle", "cross"] } },
        color: { field: "end", type: "nominal", scale: { domain: ["feedback", "given up"], range: [palette[0], palette[1]] } },
      } },
  ],
}));
