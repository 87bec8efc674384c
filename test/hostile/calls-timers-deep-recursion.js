// Tries: to have the stack overflow in the middle of setting or clearing a timer.
// Ends: completed "counted"
const walk = () => {
  try {
    clearTimeout(setTimeout(() => {}, 1));
    setTimeout(() => {}, 1);
    console.log("deep");
    walk();
  } catch (error) {
    if (error.name !== "RangeError") throw error;
  }
};
walk();
await tools.read({ id: 1 });
return "counted";
