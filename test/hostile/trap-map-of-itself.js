// Tries: to hide a ring in a Map that is a value of itself, where no object is met twice.
// Ends: failed value_not_json
const map = new Map();
map.set("set", new Set([map]));
return map;
