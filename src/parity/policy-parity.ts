import type { ApprovalRequest } from "../gate/approve/approval.ts";
import type { Policy, PolicyName } from "../gate/approve/policy.ts";
import type { JournalRecord } from "../journal/record.ts";
import { createRuntime, type Runtime } from "../runtime.ts";
import type { Sandbox } from "../sandboxes/sandbox.ts";
import { createMemorySandbox } from "../sandboxes/memory-sandbox.ts";
import { defineTool } from "../tools/define-tool.ts";
import { jsonSchema } from "../tools/schema.ts";
import type { Effect } from "../tools/tool.ts";

/** How a loop makes calls. Both functions resolve with the text that the model reads. */
export interface ParityLoop {
  /** For the titles of the cases. */
  readonly name: string;
  /** Makes a call as the model itself makes it: by your tool, whose handler calls `runtime.call({ …, caller: "direct" })`. */
  readonly direct: (runtime: Runtime, call: { readonly tool: string; readonly input: unknown }) => Promise<string>;
  /** Runs a program as the model runs it: by `run_program` of `runtime.asTool`, or of your own. */
  readonly program: (runtime: Runtime, code: string) => Promise<string>;
  /** Where programs run; in this process by default, which isolates nothing. */
  readonly sandbox?: Sandbox;
}

export interface ParityCase {
  readonly title: string;
  /** Rejects if the call of the program and the call of the model are not treated alike. */
  readonly run: () => Promise<void>;
}

const TOOL = "ledger.post";
/** What the tool changes with this input. */
const INPUTS: readonly { readonly effect: Effect; readonly amount: number }[] = [
  { effect: "read", amount: 1 },
  { effect: "idempotent", amount: 2 },
  { effect: "write", amount: 3 },
];

const throws = (): never => {
  throw new Error("It cannot say.");
};

const POLICIES: Readonly<Record<string, Policy | PolicyName | undefined>> = {
  "no policy": undefined,
  "a policy that allows": () => "allow",
  "a policy that asks": () => "ask",
  "a policy that denies": () => ({ deny: "The books are closed." }),
  "a policy of the input": ({ input }) => ((input as { amount: number }).amount > 1 ? "ask" : "allow"),
  "a policy that throws": throws,
  "a policy that gives no answer": (() => undefined) as never,
  "ask-writes": "ask-writes",
  "ask-changes": "ask-changes",
  "ask-all": "ask-all",
};
const APPROVERS = {
  approves: () => ({ allow: true, by: "ann" }),
  "denies with a note": () => ({ allow: false, by: "ann", note: "Not this one." }),
  throws: throws,
} as const;

/**
 * Cases that hold a loop to one promise: a rule treats a call of a program as it treats the same call of the model. Each
 * case makes one call on three ways, by `runtime.call`, by the model and by a program, and compares the verdict, the text
 * that is read, what the approver is told, what the handler was given and what the journal holds. For any test runner:
 * `test.each(policyParity(loop))("$title", ({ run }) => run())`.
 */
export function policyParity(loop: ParityLoop): readonly ParityCase[] {
  return Object.entries(POLICIES).flatMap(([ruled, policy]) =>
    (["never", "always"] as const).flatMap((approval) =>
      (Object.keys(APPROVERS) as (keyof typeof APPROVERS)[]).flatMap((approver) =>
        INPUTS.map((input) => ({
          title: `${loop.name}: ${ruled}, a ${input.effect} of a tool that asks ${approval}, an approver that ${approver}`,
          run: () => compare(loop, { policy, approval, approver, input }),
        })),
      ),
    ),
  );
}

interface Rules {
  readonly policy: Policy | PolicyName | undefined;
  readonly approval: "never" | "always";
  readonly approver: keyof typeof APPROVERS;
  readonly input: (typeof INPUTS)[number];
}

/** What came of one call. */
interface Seen {
  readonly handled: readonly unknown[];
  readonly asked: readonly unknown[];
  readonly records: readonly unknown[];
}

async function compare(loop: ParityLoop, rules: Rules): Promise<void> {
  const { input } = rules;
  const call = { tool: TOOL, input };
  let expected = "";
  const reference = await watch(loop, rules, async (runtime) => {
    const answer = await runtime.call({ ...call, caller: "direct" });
    expected = answer.ok ? JSON.stringify("value" in answer ? answer.value : undefined) : answer.message;
  });
  const program = `try { return await tools.${TOOL}(${JSON.stringify(input)}); } catch (error) { return error.message; }`;
  const ways = {
    "the call of the model": (runtime: Runtime) => loop.direct(runtime, call),
    "the call of the program": (runtime: Runtime) => loop.program(runtime, program),
  };
  for (const [way, make] of Object.entries(ways)) {
    let text = "";
    const seen = await watch(loop, rules, async (runtime) => {
      text = await make(runtime);
    });
    for (const part of ["handled", "asked", "records"] as const)
      if (JSON.stringify(seen[part]) !== JSON.stringify(reference[part]))
        throw new Error(
          `${way} differs in what was ${part}: ${JSON.stringify(seen[part])}, and expected was ${JSON.stringify(reference[part])}.`,
        );
    if (!plain(text).includes(plain(expected)))
      throw new Error(`${way} is answered ${JSON.stringify(text)}, and expected was ${JSON.stringify(expected)}.`);
  }
}

/** A text without the quoting that loops and JSON put around and into it. */
function plain(text: string): string {
  return text.replaceAll(/[\\"]/g, "");
}

async function watch(
  { sandbox = createMemorySandbox() }: ParityLoop,
  { policy, approval, approver }: Rules,
  make: (runtime: Runtime) => Promise<void>,
): Promise<Seen> {
  const handled: unknown[] = [];
  const asked: unknown[] = [];
  const tool = defineTool({
    name: TOOL,
    description: "Posts an amount",
    input: jsonSchema<Rules["input"]>({
      type: "object",
      properties: { effect: { enum: ["read", "idempotent", "write"] }, amount: { type: "number" } },
      required: ["effect", "amount"],
      additionalProperties: false,
    }),
    allowedCallers: ["direct", "programmatic"],
    effect: ({ effect }) => effect,
    approval,
    handler: (given) => {
      handled.push(given);
      return `posted ${given.amount}`;
    },
  });
  await using runtime = await createRuntime({
    tools: [tool],
    sandbox,
    logger: { error: () => {} },
    ...(policy === undefined ? {} : { policy }),
    approve: (request) => {
      asked.push(toldOf(request));
      return APPROVERS[approver]();
    },
  });
  await make(runtime);
  const records: unknown[] = [];
  for await (const { execution } of runtime.executions())
    for (const record of await runtime.execution(execution).records()) records.push(...keptOf(record));
  return { handled, asked, records };
}

/** What an approver is told, but for the execution that asks. */
function toldOf({ tool, effect, source, description, policy, input, inputDigest, tenant }: ApprovalRequest) {
  return { tool, effect, source, description, policy, input, inputDigest, tenant };
}

/** What the journal says of a call, but for its id, its caller and its times. */
function keptOf(record: JournalRecord): readonly unknown[] {
  if (record.type !== "call" && record.type !== "decision" && record.type !== "answered") return [];
  const { call: _, at: __, ...facts } = record;
  const { caller: ___, ms: ____, ...kept } = facts as { readonly caller?: string; readonly ms?: number };
  return [kept];
}
