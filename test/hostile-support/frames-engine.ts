/*
 * An engine whose guest is a script of frames: what `createMemorySandbox` runs in the host's own process, on the far
 * side of a real pipe. Its first argument is the script's path.
 */
import { pathToFileURL } from "node:url";
import type { GuestFace } from "../../src/runtime/testing.ts";
import { runRogueEngine } from "./rogue-engine.ts";

const script = (await import(pathToFileURL(process.argv[2] ?? "").href)) as { readonly default: () => GuestFace };
let guest: GuestFace;

runRogueEngine(
  (event, engine) => {
    guest.deliver(event);
    engine.say(drained());
  },
  () => {
    guest = script.default();
    return drained();
  },
);

function drained(): readonly string[] {
  const frames = guest.drain();
  return frames === "" ? [] : frames.split("\u001e");
}
