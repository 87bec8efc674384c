// Tries: to take the guest's own reactions to its end away, by a class of promise that never runs them.
// Ends: completed "heard"
class Deaf extends Promise {
  constructor(executor) {
    super(() => {});
    executor(() => {}, () => {});
  }
}
Object.defineProperty(Promise.prototype, "constructor", { value: Deaf });
Object.defineProperty(Promise, Symbol.species, { value: Deaf });
return "heard";
