/**
 * An owner of `owner-kills.test.ts`: `node kill-owner.ts PORT EFFECTS`. Sends `ready` when it listens; ends when it is killed.
 */
import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createOwner } from "../../src/fleet/index.ts";
import type { Tool } from "../../src/index.ts";
import { makeTools } from "../durability/shapes.ts";
import { OWNER_SECRET, TIMEOUT_MS } from "./owner-kill-cases.ts";

const [, , port = "", effects = ""] = process.argv;

const tools = makeTools(
  (key) => appendFileSync(effects, `${key} begin\n`),
  async (key, kind) => {
    // Room for a death between the begin of a call, its effect and its answer.
    await delay(Math.random() * 100);
    appendFileSync(effects, `${key} ${kind}\n`);
    await delay(Math.random() * 100);
  },
)
  .filter(({ stream }) => !stream)
  .map((tool): Tool => ({ ...tool, timeoutMs: TIMEOUT_MS }));

await using owner = await createOwner({ tools, key: OWNER_SECRET, port: Number(port), onError: () => {} });
process.send?.({ ready: owner.url });
await new Promise((resolve) => process.once("disconnect", resolve));
