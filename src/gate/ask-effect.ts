import { effectOfCall } from "../tools/effect.ts";
import type { Effect, Tool } from "../tools/tool.ts";
import type { Share } from "../values/held-bytes.ts";
import type { GateLimits } from "./budget.ts";
import { readInput } from "./read-input.ts";

/**
 * What a call would change, for an owner that orders its calls before it makes them. A `write` where that depends on an
 * input that cannot be read, or for which there is no room.
 */
export async function askEffect(
  tool: Tool,
  inputText: string,
  { inputBytes, inputValues }: Pick<GateLimits, "inputBytes" | "inputValues">,
  share: Share,
): Promise<Effect> {
  if (!tool.effectOf) return tool.effect;
  if (Buffer.byteLength(inputText) > inputBytes) return "write";
  let held = 0;
  try {
    const read = await share.lane.run(() =>
      readInput(tool, inputText, inputValues, (bytes) => {
        const overdraft = share.hold(bytes);
        if (!overdraft) held = bytes;
        return overdraft;
      }),
    );
    return read.ok === true ? effectOfCall(tool, read.value).effect : "write";
  } finally {
    share.giveBack(held);
  }
}
