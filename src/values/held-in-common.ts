/** What all runtimes of the process hold in common, and may: compiled schemas. Each runtime counts it as its own. */
export const heldInCommon = { bytes: 0, allowed: 32 * 1024 * 1024 };
