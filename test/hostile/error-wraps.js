// Tries: to carry a failed call's error out inside of others.
// Ends: failed AggregateError
const errors = [];
for (const how of ["error", "string", "result"]) await tools.fail({ how }).catch((error) => errors.push(new Error(error.stack, { cause: error })));
throw Object.assign(new AggregateError(errors, "all of them", { cause: errors }), { details: errors });
