// Order of search results: pages for users before those for maintainers, titles with words of the query first.
var Scorer = {
  score: ([page, title, anchor, , score]) => {
    const words = (new URLSearchParams(window.location.search).get("q") || "").toLowerCase().split(/\W+/);
    const inTitle = title.toLowerCase().split(/\W+/).map((word) => word.replace(/s$/, ""));
    const common = words.filter((word) => word.length > 2 && inTitle.includes(word.replace(/s$/, "")));
    const forUsers = /^(howto|tutorials|concepts)\//.test(page) ? 3 : 0;
    const forMaintainers = /^(architecture|algorithms|gpu|test_campaigns|development|faithfulness|notebooks\/)/.test(page) ? 10 : 0;
    return score + 6 * common.length + forUsers - forMaintainers - (anchor ? 2 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
