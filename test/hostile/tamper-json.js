// Tries: to read and to write the guest's frames, by taking JSON's place.
// Ends: completed {"seen":[],"row":"row 1"}
const seen = [];
JSON.stringify = (...values) => { seen.push(values); return "{}"; };
JSON.parse = (...values) => { seen.push(values); return {}; };
globalThis.JSON = undefined;
const row = await tools.read({ id: 1 });
return { seen, row: row.name };
