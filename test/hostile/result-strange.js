// Tries: to be confused by a result whose keys mean something: __proto__, constructor, then, toJSON.
// Ends: completed {"own":true,"polluted":false,"then":"no function","text":"\u001e\u0000\ud800"}
const result = await tools.strange({});
return {
  own: Object.hasOwn(result, "__proto__") && Object.hasOwn(result, "constructor"),
  polluted: "polluted" in {} || "polluted" in result,
  then: result.then,
  text: result["\u2028"],
};
