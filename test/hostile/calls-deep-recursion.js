// Tries: to have the stack overflow in the middle of sending a call, and to go on with a guest that has lost count.
// Ends: completed "counted"
const walk = (depth) => {
  try {
    void tools.read({ id: depth });
    walk(depth + 1);
  } catch (error) {
    if (error.name !== "RangeError") throw error;
  }
};
walk(0);
await tools.read({ id: -1 });
return "counted";
