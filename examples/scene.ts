export type { Ran, Scene } from "../src/cli/scene.ts";
