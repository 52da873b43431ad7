// Long tables get a field that filters their rows. Without scripts they are plain tables.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.docutils")) {
    const rows = [...table.querySelectorAll("tbody tr")];
    if (rows.length < 20) continue;
    const field = document.createElement("input");
    field.type = "search";
    field.className = "tarry-filter";
    field.placeholder = `Filter ${rows.length} rows`;
    field.setAttribute("aria-label", "Filter the rows of the table below");
    const count = document.createElement("output"); // screen readers announce it
    field.addEventListener("input", () => {
      const words = field.value.toLowerCase().split(/\s+/);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      count.textContent = field.value ? ` ${rows.filter((row) => !row.hidden).length} of ${rows.length} rows` : "";
    });
    (table.closest(".table-wrapper") || table).before(field, count);
    if (table.rows[0].cells.length > 5) table.classList.add("tarry-dense");
  }
});
