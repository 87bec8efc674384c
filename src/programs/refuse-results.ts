import type { OutsideRecord } from "../gate/call-waits.ts";
import { PortcullisError } from "../errors.ts";
import { issuesText, type Schema, type Validated, validate } from "../tools/schema.ts";
import type { Tool } from "../tools/tool.ts";
import { cutMiddle } from "../values/cut-middle.ts";
import type { FindCall } from "./decide.ts";

/** Bytes of the faults in an error's message. */
const FAULTS_BYTES = 2048;

/**
 * Rejects with `option_invalid` if a client's result does not fit the output schema of its tool: before it is journalled,
 * so that the call waits on and the client can send another one.
 */
export async function refuseWrongResults(
  records: readonly OutsideRecord[],
  findCall: FindCall,
  tools: readonly Tool[],
): Promise<void> {
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  for (const record of records) {
    if (record.type !== "result" || record.value === undefined) continue;
    const name = findCall(record.call)?.tool ?? "";
    const output = known.get(name)?.output;
    const faults = output && (await faultsOf(output, JSON.parse(record.value)));
    if (faults === undefined) continue;
    throw new PortcullisError(
      "option_invalid",
      `results[${JSON.stringify(record.call)}].value does not match the output of ${name}: ${cutMiddle(faults, FAULTS_BYTES)}. Nothing was noted: the call still waits.`,
    );
  }
}

async function faultsOf(output: Schema, value: unknown): Promise<string | undefined> {
  let validated: Validated;
  try {
    validated = await validate(output, value);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return validated.ok ? undefined : issuesText(validated.issues);
}
