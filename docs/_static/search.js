// The order of search results (Sphinx's html_search_scorer): pages that explain, then the API, then mentions elsewhere.
const THEORY = /^(design|proofs|theory|table1|methods|speed|notation)$/;
var Scorer = {
  score: (result) => {
    const [page, , anchor, , score, , kind] = result;
    // The subjects of a page (docs/pages.py) lead to the page itself, which is then listed once.
    if (anchor.startsWith("#index-")) result[2] = "";
    if (kind === "object") return score / 5;
    if (page.startsWith("reference/") || page === "genindex") return score - 12;
    if (THEORY.test(page)) return score - 8;
    return page === "glossary" ? score * 0.9 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 10, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
// A page opened as a file may not read others for their summaries: the browser would complain for each.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
