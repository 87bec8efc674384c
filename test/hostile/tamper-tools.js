// Tries: to put other tools in place of those it was given.
// Ends: completed {"same":true,"frozen":true,"errors":["TypeError","TypeError","TypeError","TypeError","TypeError","TypeError"]}
const before = tools;
const attempts = [
  () => Object.defineProperty(globalThis, "tools", { value: {} }),
  () => Object.defineProperty(tools, "read", { value: () => 1 }),
  () => Object.setPrototypeOf(tools, { vault: {} }),
  () => { "use strict"; globalThis.tools = {}; },
  () => { "use strict"; delete tools.read; },
  () => { "use strict"; tools.vault = { open: tools.read }; },
];
const errors = attempts.map((attempt) => {
  try {
    return attempt();
  } catch (error) {
    return error.name;
  }
});
return { same: globalThis.tools === before, frozen: Object.isFrozen(tools) && Object.isFrozen(tools.read), errors };
