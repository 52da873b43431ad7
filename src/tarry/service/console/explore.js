// The explorer: one stream of late labels under several policies; what is chosen stands in the address.
import { draw, onTurn } from "./charts.js";
import { card, count, decimal, element, json, percent, table } from "./page.js";

const LAWS = {
  geometric: { mean: 50 }, fixed: { delay: 50 }, uniform: { low: 0, high: 100 }, pareto: { shape: 1.5, scale: 10 },
  lognormal: { median: 30, spread: 1 }, bursts: { length: 200, slow: 150, fast: 5 },
};
const FIELDS = {
  law: ["Delays", Object.keys(LAWS)], lean: ["Labels are 1 more often where feedback is", ["slow", "quick", "neither"]],
  capacity: ["Slots", 1, 10000, 16], horizon: ["Decisions", 10, 20000, 2000], streams: ["Streams", 2, 64, 16], seed: ["Seed", 0, 1000000, 0],
};

export async function showExplorer(place, signal, query = "") {
  const given = new URLSearchParams(query ?? "");
  const law = LAWS[given.get("law")] ? given.get("law") : "geometric";
  const fields = {};
  const form = element("form", { class: "fields", "aria-label": "What to try" });
  const add = (key, title, control) => { fields[key] = control; form.append(element("label", {}, title, control)); };
  for (const [key, [title, ...rest]] of Object.entries(FIELDS)) {
    if (Array.isArray(rest[0])) {
      add(key, title, element("select", {}, rest[0].map((option) => element("option", { selected: (key === "law" ? law : given.get(key)) === option }, option))));
    } else {
      const [least, most, usual] = rest;
      add(key, title, element("input", { type: "number", min: least, max: most, required: true, value: given.get(key) ?? usual }));
    }
  }
  for (const [key, usual] of Object.entries(LAWS[law])) add(`p.${key}`, `${key} (of the delays)`, element("input", { type: "number", step: "any", required: true, value: given.get(`p.${key}`) ?? usual }));
  form.append(element("button", { class: "main", type: "submit" }, "Play"));
  const address = () => `#/explore?${new URLSearchParams(Object.entries(fields).map(([key, control]) => [key, control.value]))}`;
  form.addEventListener("submit", (event) => { event.preventDefault(); if (location.hash === address()) location.reload(); else location.hash = address(); });
  fields.law.addEventListener("change", () => { location.hash = `#/explore?law=${fields.law.value}&lean=${fields.lean.value}&capacity=${fields.capacity.value}`; });
  const out = element("div", { "aria-live": "polite" }, element("p", {}, "Playing…"));
  place.append(element("h1", {}, "The same streams, several policies"), element("p", {}, "Late labels with few slots. Each policy estimates the mean label of all decisions from the labels it sees; all meet the same streams."), form, out);
  place.focus();
  const number = (key) => Number(fields[key].value);
  const parameters = Object.fromEntries(Object.keys(LAWS[law]).map((key) => [key, number(`p.${key}`)]));
  const body = { law, parameters, lean: fields.lean.value, capacity: number("capacity"), horizon: number("horizon"), streams: number("streams"), seed: number("seed") };
  try {
    await showFound(out, await json("/v1/explore", { method: "POST", body, signal }), signal);
  } catch (error) {
    if (!signal.aborted) out.replaceChildren(element("p", { class: "error", role: "alert" }, error.message));
  }
}

async function showFound(out, found, signal) {
  const spread = element("div", { class: "chart" }), along = element("div", { class: "chart" });
  const rows = found.lines.map((line) => [line.policy, `${decimal(line.bias, 2)} ± ${decimal(2 * line.bias_error, 2)}`, decimal(line.deviation, 2), decimal(line.error, 2), percent(line.seen)]);
  const best = [...found.lines].sort((a, b) => a.error - b.error)[0];
  out.replaceChildren(
    element("p", {}, `Delays of ${decimal(found.mean_delay)} decisions on average; ${count(found.capacity)} slots. Least typical error on these streams: ${best.policy}, ${decimal(best.error, 2)}.`),
    element("div", { class: "grid" }, card("Mean error of the estimates, ± two standard errors", spread), card("Along the first stream", along)),
    table("Bias: mean error over streams, ± two standard errors. Deviation: spread of errors. Error: both together", [["Policy"], ["Bias", "number"], ["Deviation", "number"], ["Error", "number"], ["Labels seen", "number"]], rows));
  const names = found.lines.map((line) => line.policy);
  const coloured = (palette) => ({ field: "policy", type: "nominal", scale: { domain: [...names, "truth"], range: [...palette.slice(0, names.length), "gray"] } });
  const biases = found.lines.map(({ policy, bias, bias_error: error }) => ({ policy, bias, low: bias - 2 * error, high: bias + 2 * error }));
  const curves = [...found.lines, { policy: "truth", curve: found.truths }].flatMap((line) => line.curve.map((estimate, i) => ({ policy: line.policy, at: found.at[i], estimate })));
  const show = async () => {
    const across = (field, more = {}) => ({ field, type: "quantitative", title: "estimate minus truth", ...more });
    await draw(spread, "Mean error of each policy, with two standard errors to either side", biases, ({ palette, ink }) => ({
      height: 40 * names.length + 20,
      encoding: { y: { field: "policy", type: "nominal", title: null, sort: names }, color: { ...coloured(palette), legend: null } },
      layer: [
        { mark: { type: "rule", strokeWidth: 3 }, encoding: { x: across("low"), x2: { field: "high" } } },
        { mark: { type: "point", filled: true, size: 90, opacity: 1 }, encoding: { x: across("bias") } },
        { mark: { type: "rule", strokeDash: [5, 4], color: ink }, encoding: { x: { datum: 0 }, y: null, color: null } },
      ],
    }));
    await draw(along, "Estimates along the stream, with the truth so far", curves.filter((row) => row.estimate !== null), ({ palette }) => ({
      height: 240,
      mark: { type: "line", strokeWidth: 2 },
      encoding: { x: { field: "at", type: "quantitative", title: "decision" }, y: { field: "estimate", type: "quantitative", title: "mean label", scale: { zero: false } }, color: coloured(palette), strokeDash: { field: "policy", type: "nominal", legend: null } },
    }));
  };
  await show();
  onTurn(show, signal);
}
