// Tries: to hand a result with a field called __proto__ on, as its own value.
// Ends: failed value_not_json
return await tools.strange({});
