// Tries: to throw an error that consists of itself, many times over.
// Ends: failed AggregateError
const error = new AggregateError([], "many");
for (let index = 0; index < 100_000; index += 1) error.errors.push(error, { error });
throw error;
