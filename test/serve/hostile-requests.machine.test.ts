import { expect, test } from "vitest";
import { collectGarbage } from "../support/collect-garbage.ts";
import { sendMutated } from "./mutated-requests.ts";
import { openServer } from "./servers.ts";

const MIB = 1024 * 1024;
const REQUESTS = 1500;
/** A server that holds something of each request would hold twice as much after twice as many. */
const MOST_RATIO = 1.1;

test(
  "what a server holds does not grow with the mutated requests that it has answered",
  { timeout: 300_000 },
  async () => {
    await using door = await openServer();
    const heldAfter = async () => {
      await sendMutated(door, REQUESTS);
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const [once, twice] = [await heldAfter(), await heldAfter()];
    process.stdout.write(
      `${REQUESTS} requests: ${(once / MIB).toFixed(1)} MiB, ${2 * REQUESTS}: ${(twice / MIB).toFixed(1)} MiB\n`,
    );
    expect(twice / once).toBeLessThan(MOST_RATIO);
  },
);
