// Tries: to look like a Map and be none, and to be a Map that tells lies about itself.
// Ends: completed {"liar":{"a":1},"fake":"TypeError: Method Map.prototype.forEach called on incompatible receiver #<Map>"}
const liar = Object.defineProperties(new Map([["a", 1]]), { forEach: { value: null }, size: { value: -1 }, [Symbol.iterator]: { value: null } });
const fake = await tools.echo({ value: Object.create(Map.prototype) }).catch((error) => String(error));
return { liar, fake };
