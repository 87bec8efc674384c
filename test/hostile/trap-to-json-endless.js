// Tries: to be written out without an end: every level says that its JSON is one level more.
// Ends: failed value_not_json: nested more than 100 levels
const deeper = () => ({ toJSON: () => ({ deeper: deeper() }) });
return deeper();
