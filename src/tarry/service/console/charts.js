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

/** Draw a chart into a place; return `update(name, rows)`, which exchanges its data. `spec` is made of the look. */
export async function draw(place, described, makeSpec) {
  const styled = await look();
  const spec = makeSpec(styled);
  const wide = Math.max(220, place.clientWidth - 90);
  const width = (part) => (part.width === "container" ? { ...part, width: wide } : part);
  const whole = { ...width(spec), config: styled.config, description: described };
  // The interpreter evaluates expressions without eval, which the page's policy forbids.
  const { view } = await globalThis.vegaEmbed(place, whole, { mode: "vega-lite", actions: false, ast: true, renderer: "canvas", defaultStyle: false, tooltip: false });
  place.querySelector("canvas")?.setAttribute("aria-label", described);
  return (name, rows) => view.data(name, rows).runAsync();
}

/** Call a function whenever the system turns light or dark, until the signal ends it. */
export function onTurn(redraw, signal) { isDark.addEventListener("change", redraw, { signal }); }
