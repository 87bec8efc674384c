/* No wall: the program as a function in this process. */
const AsyncFunction = (async () => {}).constructor;

export async function open({ tools }) {
  return {
    tool: (name) => `tools.${name}`,
    execute: (program) =>
      program === "for (;;) {}"
        ? Promise.reject(new Error("it would never end"))
        : new AsyncFunction("tools", program)(tools),
  };
}
