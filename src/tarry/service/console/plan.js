// The planner: a CSV of two time stamps in, how many slots are enough out.
import { draw, onTurn } from "./charts.js";
import { card, count, decimal, element, json, percent, say, table } from "./page.js";

export async function showPlanner(place, signal) {
  const out = element("div", { "aria-live": "polite" });
  const file = element("input", { type: "file", id: "log", accept: ".csv,text/csv" });
  const target = element("input", { type: "number", id: "target", min: 0.01, max: 1, step: 0.01, value: 0.5 });
  const drop = element("div", { class: "drop" }, element("label", { for: "log" }, "Drop a CSV here, or choose one: a column of when decisions were made, one of when their labels came."), file);
  let text = null;
  const make = async () => {
    if (text === null) { out.replaceChildren(element("p", { class: "error", role: "alert" }, "Choose a file first.")); return; }
    out.replaceChildren(element("p", {}, "Replaying the log at every capacity…"));
    try {
      const plan = await json("/v1/plan", { method: "POST", body: { csv: text, target: Number(target.value) }, signal });
      await showPlan(out, plan, signal);
    } catch (error) {
      if (!signal.aborted) out.replaceChildren(element("p", { class: "error", role: "alert" }, error.message));
    }
  };
  const take = async (chosen) => { if (chosen) { text = await chosen.text(); say(`${chosen.name}: ${count(text.split("\n").length)} lines.`); await make(); } };
  file.addEventListener("change", () => take(file.files[0]));
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); take(event.dataTransfer.files[0]); });
  const form = element("form", { class: "fields", onsubmit: (event) => { event.preventDefault(); make(); } },
    element("div", {}, element("label", { for: "target" }, "Effective sample wanted, as a share of all labels"), target), element("button", { class: "main", type: "submit" }, "Plan"));
  place.append(element("h1", {}, "How many slots do I need?"), drop, form, out);
  place.focus();
}

async function showPlan(out, plan, signal) {
  const chart = element("div", { class: "chart" });
  const rows = plan.table.map((row) => [count(row.capacity), row.scheduler, row.is_unbiased ? "no" : "yes", percent(row.seen), decimal(row.mean_weight), percent(row.effective)]);
  out.replaceChildren(element("p", {}, plan.keep_all ?? ""), element("p", {}, element("strong", {}, plan.recommendation)), element("ul", { class: "warnings" }, plan.warnings.map((warning) => element("li", {}, warning))),
    card("Labels by capacity", chart), table("What each capacity would see", [["Slots"], ["Policy"], ["Biased"], ["Labels seen", "number"], ["Mean weight", "number"], ["Effective sample", "number"]], rows));
  const show = () => draw(chart, "Effective sample size by capacity and policy", plan.table, ({ palette }) => ({
    height: 280,
    mark: { type: "line", point: true },
    encoding: {
      x: { field: "capacity", type: "quantitative", scale: { type: "log" }, title: "slots" }, y: { field: "effective", type: "quantitative", title: "effective sample, share of all labels", axis: { format: "%" } },
      color: { field: "scheduler", type: "nominal", scale: { range: palette } }, strokeDash: { field: "scheduler", type: "nominal" },
    },
  }));
  await show();
  onTurn(show, signal);
}
