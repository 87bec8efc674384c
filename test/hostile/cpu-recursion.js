// Tries: to overflow the stack in every kind of frame there is.
// Ends: completed ["RangeError","RangeError","RangeError","RangeError","RangeError"]
const ways = [
  () => ways[0](),
  () => JSON.stringify({ toJSON: ways[1] }),
  () => [1].map(ways[2]),
  () => "a".replace(/a/, ways[3]),
  () => Reflect.apply(ways[4], null, []),
];
return ways.map((way) => {
  try {
    return typeof way();
  } catch (error) {
    return error.name;
  }
});
