// Tries: to have as many types as fit a program stripped in the host.
// Ends: completed 1 | failed syntax
export default () => `const a: number = 1;\n${"{ const b: number = a as number; }\n".repeat(900)}return a;`;
