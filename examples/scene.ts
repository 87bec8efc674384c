export type { Person, Ran, Scene } from "../src/cli/scene.ts";
