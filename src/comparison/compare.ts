import { costOf, type Factors, spentBy } from "./accounting/accounting.ts";
import { programsFrom } from "./accounting/advice.ts";
import {
  BASELINE,
  type Comparison,
  HEADLINE,
  leading,
  type Mode,
  type ModeMeasure,
  modeOf,
  type ToolMeasure,
  type WireMeasure,
} from "./comparison.ts";
import { type Exchange, exchangeOf, regroup, sum, type TokenCounter } from "./accounting/count-exchange.ts";
import { recordLastRequest } from "./wires/record-requests.ts";
import type { RequestParts, Wire } from "./wires/wire.ts";
import { isVisible, type ToolSet } from "../tools/tool-set.ts";
import { COMPARE_RULES, type CompareOptions, comparisonRequest, type ComparisonRequest } from "./compare-options.ts";
import { checkTask, type ComparisonTask } from "./comparison-task.ts";
import { asPlainLoop, type ConversationRun } from "./conversations/conversation-run.ts";
import { runTask, type TaskRun } from "./conversations/run-task.ts";
import { readOptions } from "../option-rules/options.ts";
import type { Runtime } from "../runtime.ts";

/**
 * Does a task by a program and by direct calls in the runtime, with a scripted model, and resolves with the tokens that
 * each would pass through a model of each provider. No provider is called. Every call is made several times; calls of
 * tools that change something, and of agents, are not made. Rejects with a `PortcullisError` if an option or the task
 * is wrong, the runtime is closed, the sandbox cannot run or the journal cannot be written. Rejects with the signal's
 * reason if the signal aborts.
 */
export async function compare(
  runtime: Runtime,
  task: ComparisonTask,
  options: CompareOptions = {},
): Promise<Comparison> {
  const read = readOptions("compare", options, COMPARE_RULES);
  checkTask(task);
  const request = comparisonRequest(task, read);
  const { count, factors, windowTokens } = request;
  const { tenant, language, limits = {}, signal } = read;
  const scope = {
    language,
    limits,
    ...(tenant === undefined ? {} : { tenant }),
    signal: signal ? AbortSignal.any([signal, runtime.closing]) : runtime.closing,
  };
  const ran = await runTask({ runtime, scope }, request);
  const wires: WireMeasure[] = [];
  // The advice is computed on the wire whose figures are shown.
  const shown = leading(request.wires);
  let measured: ReadonlyMap<Mode, Exchange> = new Map();
  for (const wire of request.wires) {
    const requests = await requestsOn(wire, ran, request);
    const exchanges = exchangesOf(requests, request, count);
    const others = exchangesOf(requests, request, request.countOther);
    const modes = [...exchanges].map(([mode, exchange]): ModeMeasure => {
      const spent = spentBy(exchange);
      const spentOther = spentBy(others.get(mode) ?? exchange);
      const answer = ran.verdicts.get(mode) ?? "unchecked";
      return { mode, spent, spentOther, cost: costOf(spent, factors), answer, fits: spent.peak <= windowTokens };
    });
    wires.push({ wire: wire.provider, exact: wire.exact, modes, ...ratioOf(modes, factors, ran) });
    if (wire === shown) measured = exchanges;
    request.onProgress(wire.provider);
  }
  const { plan, direct, programmatic, notes } = ran;
  return {
    task: task.name,
    question: task.question,
    answer: task.answer,
    calls: plan.flat().length,
    layers: plan.length,
    resultBytes: (direct ?? programmatic).resultBytes,
    outputBytes: sum(programmatic.turns.flatMap(({ results }) => results.map(({ provenance }) => provenance.bytes))),
    wires,
    tools: toolMeasures(ran, measured, runtime.tools, factors),
    notes,
  };
}

/** The request of each mode, as the model reads it on this wire. */
async function requestsOn(
  wire: Wire,
  { direct, truncated, best, programmatic, probed, retried }: TaskRun,
  { task }: ComparisonRequest,
): Promise<ReadonlyMap<Mode, RequestParts>> {
  const conversations: readonly (readonly [Mode, ConversationRun | undefined])[] = [
    ["direct-unlimited", direct && asPlainLoop(direct)],
    ["direct-truncated", truncated && asPlainLoop(truncated)],
    ["direct-best-tool", best && asPlainLoop(best)],
    ["programmatic", programmatic],
    ["programmatic+probe", probed],
    ["programmatic+retry", retried],
  ];
  const requests = new Map<Mode, RequestParts>();
  for (const [mode, conversation] of conversations) {
    if (!conversation) continue;
    const { opening, turns } = conversation;
    requests.set(mode, await recordLastRequest(wire, opening, task.question, turns));
  }
  return requests;
}

/** Every mode in tokens. Modes that differ only in the number of calls per turn come from one conversation, regrouped. */
function exchangesOf(
  requests: ReadonlyMap<Mode, RequestParts>,
  { task, atOnce }: ComparisonRequest,
  count: TokenCounter,
): ReadonlyMap<Mode, Exchange> {
  const answer = JSON.stringify(task.answer);
  const exchanges = new Map<Mode, Exchange>();
  for (const [mode, parts] of requests) {
    const exchange = exchangeOf(parts, answer, count);
    if (mode === "direct-unlimited") {
      exchanges.set("direct-seq", regroup(exchange, 1));
      exchanges.set("direct-parallel", regroup(exchange, atOnce));
    }
    const isGrouped = mode === "direct-truncated" || mode === "direct-best-tool";
    exchanges.set(mode, isGrouped ? regroup(exchange, atOnce) : exchange);
  }
  return exchanges;
}

/** The ratio of the two headline modes if both did the task, else the reason why there is none. */
function ratioOf(
  modes: readonly ModeMeasure[],
  factors: Factors,
  { barred, overflows }: TaskRun,
): Pick<WireMeasure, "ratio" | "ratioOther" | "noRatio"> {
  const baseline = modeOf(modes, BASELINE);
  const headline = modeOf(modes, HEADLINE);
  if (!baseline && overflows) return { noRatio: `${BASELINE} does not fit` };
  if (!baseline) return { noRatio: `only programs may call ${barred.join(", ")}` };
  if (!headline) return { noRatio: "programs cannot do it" };
  // A fault of the program is reported first, even if the direct calls do not fit either.
  for (const { mode, fits, answer } of [headline, baseline]) {
    if (!fits) return { noRatio: `${mode} does not fit` };
    if (answer !== "right") return { noRatio: `${mode} has ${answer === "wrong" ? "a wrong" : "an unchecked"} answer` };
  }
  const other = ({ spentOther }: ModeMeasure) => costOf(spentOther, factors).cached;
  return { ratio: baseline.cost.cached / headline.cost.cached, ratioOther: other(baseline) / other(headline) };
}

/** The size of each tool's results and the number of calls from which a program costs less; or why they are not measured. */
function toolMeasures(
  { direct, programmatic, verdicts, barred }: TaskRun,
  exchanges: ReadonlyMap<Mode, Exchange>,
  tools: ToolSet,
  factors: Factors,
): readonly ToolMeasure[] {
  const made = Map.groupBy(programmatic.layers.flat(), ({ tool }) => tool);
  const unmeasured = (why: (tool: string) => string): readonly ToolMeasure[] =>
    [...made].flatMap(([tool, { length: calls }]) =>
      tools.get(tool) === undefined ? [] : [{ tool, calls, unmeasured: why(tool) }],
    );
  const unlimited = exchanges.get("direct-unlimited");
  if (!direct || !unlimited)
    return unmeasured((tool) =>
      barred.includes(tool)
        ? "Only programs may call it."
        : `Direct calls were not measured, because only programs may call ${barred.join(", ")}.`,
    );
  // The cost of a program that does not do the task says nothing about its tools.
  if (verdicts.get(HEADLINE) !== "right")
    return unmeasured(
      () => "The answer of the program that calls it is wrong: correct the program, then measure again.",
    );
  const measured = direct.turns.flatMap(({ turn }, place) =>
    turn.calls.map((call, index) => ({
      tool: call.type === "tool_call" ? call.tool : "",
      ...(unlimited.turns[place]?.calls[index] ?? { written: 0, read: 0 }),
    })),
  );
  const byTool = Map.groupBy(measured, ({ tool }) => tool);
  return [...byTool].flatMap(([name, calls]) => {
    const call = calls.toSorted((one, other) => one.read - other.read)[calls.length >>> 1] ?? { written: 0, read: 0 };
    const tool = tools.get(name);
    if (!tool) return [];
    const programs = isVisible(tool, ["programmatic"]) ? exchanges.get(HEADLINE) : undefined;
    const from = programs && programsFrom(call, unlimited, programs, factors);
    return {
      tool: name,
      calls: calls.length,
      resultTokens: call.read,
      ...(from === undefined ? {} : { programsFrom: from }),
    };
  });
}
