// Tries: to leave a thousand streams open, and to read a row of each.
// Ends: completed {"read":64,"codes":["budget_spent"]}
// Records: refused budget_spent
const all = Array.from({ length: 1000 }, () => tools.rows({ n: 2000 })[Symbol.asyncIterator]().next());
const settled = await Promise.allSettled(all);
const codes = new Set(settled.flatMap(({ reason }) => (reason === undefined ? [] : [reason.code])));
return { read: settled.filter(({ status }) => status === "fulfilled").length, codes: [...codes] };
