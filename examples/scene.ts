export type { CommandOutput, Scene } from "../src/cli/commands/measure/bench.ts";
