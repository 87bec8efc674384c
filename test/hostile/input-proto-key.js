// Tries: to give the host an object with a field called __proto__, for the host to copy.
// Ends: failed input_invalid: __proto__
// Runs: echo 0
await tools.echo({ value: JSON.parse('{"rows":[{"__proto__":{"admin":true}}]}') });
