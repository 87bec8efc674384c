export type { Person, Ran, Scene } from "../src/cli/commands/measure/demo.ts";
