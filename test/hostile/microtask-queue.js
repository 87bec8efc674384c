// Tries: to queue two microtasks in each one.
// Ends: stopped cpuMs | stopped memoryBytes
const twice = () => {
  queueMicrotask(twice);
  queueMicrotask(twice);
};
twice();
await new Promise(() => {});
