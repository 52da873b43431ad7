// Charts in the theme that all of Tarry's charts share, light or dark, drawn by Vega-Lite from this server.

let theme = null;
const isDark = matchMedia("(prefers-color-scheme: dark)");

async function look() {
  theme ??= await (await fetch("theme.json")).json();
  const turned = (colour) => (isDark.matches ? theme.dark[colour] ?? colour : colour);
  const { ink, faint, grid, rule } = theme;
  return {
    palette: theme.palette.map(turned),
    fates: Object.fromEntries(Object.entries(theme.fates).map(([fate, colour]) => [fate, turned(colour)])),
    ink: turned(ink), faint: turned(faint),
    config: {
      background: "transparent", font: theme.font, view: { stroke: null }, padding: 4,
      axis: { labelColor: turned(ink), titleColor: turned(ink), gridColor: turned(grid), domainColor: turned(rule), tickColor: turned(rule), labelFontSize: 11, titleFontSize: 12, titleFontWeight: "normal" },
      legend: { labelColor: turned(ink), titleColor: turned(ink), labelFontSize: 12, orient: "top", title: null },
      title: { color: turned(ink), anchor: "start" },
      range: { category: theme.palette.map(turned) },
    },
  };
}

/**
 * Draw a chart into a place, and return a function that exchanges its rows; before there are rows it says so.
 * `makeSpec` makes the specification, without its data, of the look.
 */
export async function draw(place, described, rows, makeSpec) {
  const styled = await look();
  const wide = Math.max(220, place.clientWidth - 110);
  styled.config.legend.columns = Math.max(1, Math.floor(wide / 150));
  let view = null;
  const show = async (found) => {
    if (!found.length) { view = null; place.textContent = "Nothing yet."; return; }
    if (view) { await view.data("rows", found).runAsync(); return; }
    const { width = wide, ...spec } = makeSpec(styled);
    const whole = { ...spec, width, autosize: { type: "pad", resize: true }, data: { name: "rows", values: found }, config: styled.config, description: described };
    // The interpreter evaluates expressions without eval, which the page's policy forbids.
    const options = { mode: "vega-lite", actions: false, ast: true, renderer: "canvas", defaultStyle: false, tooltip: false, logLevel: 1 };
    ({ view } = await globalThis.vegaEmbed(place, whole, options));
  };
  await show(rows);
  return show;
}

/** Call a function whenever the system turns light or dark, until the signal ends it. */
export function onTurn(redraw, signal) { isDark.addEventListener("change", redraw, { signal }); }
