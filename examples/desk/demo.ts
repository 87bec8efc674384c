import { type Approve, createRuntime } from "portcullis";
import type { Scene } from "../scene.ts";
import { deskModel } from "./model.ts";
import { ORDERS } from "./orders.ts";
import { Reply } from "./reply.ts";
import tools, { paid } from "./tools.ts";

const INSTRUCTIONS =
  "You work at the support desk of a shop. Lists of orders are long: save what you will need again, and load it in place of fetching it twice.";

const QUESTIONS = [
  "How many orders are late, by country? Keep the list, we need it again.",
  "Pay back the dearest late order from Germany.",
  "Thanks. What have we paid back, and how many late orders are left in Germany?",
];

/** A conversation of several messages: the second program reads what the first has kept, a person approves, each answer has a type. */
export default async function desk({ heading, print, signal }: Scene): Promise<boolean> {
  paid.clear();
  const asked: string[] = [];
  const approve: Approve = ({ tool, input }) => {
    asked.push(tool);
    print(`  ! ${tool} ${JSON.stringify(input)} needs approval: allowed by ann`);
    return { allow: true, by: "ann" };
  };
  await using runtime = await createRuntime({
    tools,
    approve,
    onEvent: (event) => {
      if (event.type === "call_ended") print(`  · ${event.tool}: ${event.outcome.type}`);
    },
  });
  await using talk = await runtime.conversation({
    model: deskModel(),
    instructions: INSTRUCTIONS,
    answer: Reply,
    signal,
    onEvent: (event) => {
      if (event.type === "program_started") print(event.source.replaceAll(/^/gm, "  | "));
    },
  });
  let last;
  for (const message of QUESTIONS) {
    heading(`user: ${message}`);
    last = await talk.send(message);
    if (!last.answer) {
      print(`The conversation ended as ${last.ending.type}.`);
      break;
    }
    print(`desk: ${last.answer.reply}`);
  }
  if (!last) return false;
  heading("what the conversation kept outside of the model's context");
  for (const { name, shape, bytes } of last.artifacts) print(`${name}: ${bytes} bytes, ${shape}`);
  print(`paid back: ${JSON.stringify(last.answer?.refunded)}`);
  return keptAll(last) && asked.length === 1 && isRight(last.answer);
}

const LATE = ORDERS.filter(({ daysLate }) => daysLate > 0);

/** Computed from the orders: the dearest late one from Germany was paid back, once, and the answer says so. */
function isRight(
  answer: { readonly refunded: readonly { readonly order: string; readonly euros: number }[] } | undefined,
): boolean {
  const german = LATE.filter(({ country }) => country === "DE");
  const dearest = german.reduce((one, other) => (other.euros > one.euros ? other : one));
  const [only, ...further] = answer?.refunded ?? [];
  const isPaid = paid.size === 1 && paid.get(dearest.id) === dearest.euros;
  return isPaid && further.length === 0 && only?.order === dearest.id && only.euros === dearest.euros;
}

/** The orders were fetched once, and the list of late ones was kept. */
function keptAll({
  calls,
  artifacts,
}: {
  readonly calls: readonly { readonly tool: string }[];
  readonly artifacts: readonly { readonly shape: string }[];
}): boolean {
  const fetched = calls.filter(({ tool }) => tool === "orders.list").length;
  return fetched === 1 && artifacts.length === 1 && artifacts[0]?.shape.includes(String(LATE.length)) === true;
}
