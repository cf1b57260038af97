// The order of search results: a title that holds the question comes first, then guides before
// reference, and development last. The numbers below `score` are Sphinx's own.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    if (kind === "title") score *= 3;
    const bonus = {
      tutorials: 3,
      "how-to": 3,
      explanation: 1,
      reference: 0,
      notebooks: -2,
      development: -5,
    };
    return score + (bonus[docname.split("/")[0]] ?? 0);
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
