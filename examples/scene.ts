export type { Ran, Scene } from "../src/cli/commands/measure/demo.ts";
