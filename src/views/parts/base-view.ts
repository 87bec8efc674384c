import type { ExecutionSummary, Journal } from "../../journal/journal.ts";
import type { Header } from "../../journal/record.ts";
import { isDriven } from "../../programs/driven-here.ts";
import type { UnansweredCall } from "../../programs/from-journal/execution-state.ts";
import { TextRoom } from "./text-room.ts";
import type { FaultView, OutcomeView, WaitingView } from "../view.ts";
import { fieldOf, isFields, textOf, type Fields } from "../../values/fields.ts";

/** The fields of the header that the views of all kinds have. */
export function baseOf(journal: Journal, summary: ExecutionSummary, header: Header) {
  const { execution, tenant, startedAt, versions, parent } = header;
  const driven = isDriven(journal, summary);
  return {
    execution,
    tenant,
    startedAt,
    driven,
    ...(driven && summary.lease && { drivenUntil: summary.lease.until }),
    versions: Object.entries(versions).map(([name, text]) => ({ name, text })),
    ...(parent && { parent: { execution: parent.execution, call: parent.call } }),
  };
}

/** Maximum of the inputs of all calls that wait, in UTF-16 code units: they are whole unless many large calls wait. */
const INPUTS = 4 * 1024 * 1024;

/** The calls that wait for a person or a client. `above` begins their ids, like `call_2/`. */
export class WaitingViews {
  readonly all: WaitingView[] = [];
  readonly #room = new TextRoom({ each: INPUTS, all: INPUTS });

  take(calls: Iterable<UnansweredCall>, above = ""): void {
    for (const call of calls) this.all.push(this.#view(call, above));
  }

  #view({ id, tool, inputText, decided }: UnansweredCall, above: string): WaitingView {
    const digest = decided?.inputDigest;
    const held = decided?.code === "outcome_unknown" ? "outcome_unknown" : "approval";
    return {
      id: `${above}${id}`,
      tool,
      why: decided?.decision === "client" ? "result" : held,
      input: this.#room.head(inputText),
      ...(digest === undefined ? {} : { inputDigest: digest }),
      since: decided?.at ?? 0,
    };
  }
}

/** Reads an ending, which may come from elsewhere. */
export function outcomeView(ending: Fields): OutcomeView {
  const type = textOf(ending, "type") ?? "unreadable";
  const limit = textOf(ending, "limit");
  const fault = faultView(type, ending);
  return { type, ...(fault ? { fault } : {}), ...(limit === undefined ? {} : { limit }) };
}

function faultView(type: string, ending: unknown): FaultView | undefined {
  const fault = fieldOf(ending, "fault") ?? fieldOf(ending, "failure");
  if (!isFields(fault)) return undefined;
  const message = textOf(fault, "message") ?? "";
  const name = textOf(fault, "name") ?? type;
  return { name, message, ...texts(fault, "code", "tool"), ...counts(fault, "line", "column") };
}

function texts<Name extends string>(fields: object, ...names: readonly Name[]): { readonly [Each in Name]?: string } {
  return picked(fields, names, (value): value is string => typeof value === "string");
}

function counts<Name extends string>(fields: object, ...names: readonly Name[]): { readonly [Each in Name]?: number } {
  return picked(fields, names, (value): value is number => Number.isSafeInteger(value) && (value as number) > 0);
}

function picked<Name extends string, Value>(
  fields: object,
  names: readonly Name[],
  is: (value: unknown) => value is Value,
): { readonly [Each in Name]?: Value } {
  const found = names.map((name) => [name, fieldOf(fields, name)] as const).filter(([, value]) => is(value));
  return Object.fromEntries(found) as { readonly [Each in Name]?: Value };
}
