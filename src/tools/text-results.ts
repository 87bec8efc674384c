import { JsonText } from "../base/index.ts";
import { Content, withValue } from "./content.ts";
import type { CallContext } from "./tool.ts";

type Handler = (input: unknown, context: CallContext) => unknown;

/** Handlers that give the gate large results as checked text, by what everybody else calls. */
const giving = new WeakMap<object, Handler>();

/** A handler of what gives large results as `JsonText`: only the gate gets that, and everybody else the value. */
export function givingText(run: Handler): Handler {
  const handler: Handler = async (input, context) => {
    const result = await run(input, context);
    return Content.is(result) ? withValue(result, valueOf(result.value)) : valueOf(result);
  };
  giving.set(handler, run);
  return handler;
}

/** What the gate calls. */
export const handlerOf = (handler: Handler): Handler => giving.get(handler) ?? handler;

export function valueOf(result: unknown): unknown {
  return result instanceof JsonText ? (JSON.parse(result.text) as unknown) : result;
}
