// The order of search results: a title that holds the question comes first, then guides before
// reference, main names before members, and development last. The numbers below `score` are
// Sphinx's own.
var Scorer = {
  score: ([docname, title, anchor, descr, score, filename, kind]) => {
    if (kind === "title") score *= anchor ? 2 : 3; // of a section, of a page
    if (kind === "object") {
      // names of sapwood itself first; members and the mirror after what they belong to
      if (/^#sapwood\.\w+$/.test(anchor)) score += 6;
      if (/Python (attribute|property|method)/.test(descr)) score -= 12;
      if (docname.endsWith("sapwood.reference")) score -= 12;
    }
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
