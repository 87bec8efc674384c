// Tries: to return streams, deep in a value.
// Ends: failed : the stream of tools.rows(…)
return { rows: [await Promise.all([tools.rows({ n: 1 }), tools.rows({ n: 2 })])] };
