import { describe, hasCode, ignore, PortcullisError } from "../errors.ts";

type Callback = (...args: never[]) => unknown;

/**
 * What becomes of an error of a function that the host gave. `asked`: it is thrown, or rejects, as `callback_failed`.
 * `quoting`: so too, but the message holds no word of the error, which may quote what the function was asked about. `told`:
 * the function answers nothing, and its error is ignored.
 */
export type CallbackKind = "asked" | "quoting" | "told";

/** A function that is given twice is guarded once: what is kept by function stays found. */
const guards = new WeakMap<Callback, Map<string, Callback>>();
const allGuards = new WeakSet<Callback>();

/**
 * The one way in which functions of the host are called. Whatever it throws, at once or later, ends neither the process nor
 * says anything in place of an answer. `owner` is what it is a method of.
 */
export function guardCallback<Callable>(kind: CallbackKind, name: string, value: Callable, owner?: object): Callable {
  if (typeof value !== "function" || allGuards.has(value as unknown as Callback)) return value;
  const callback = value as unknown as Callback;
  const guardsByName = guards.get(callback) ?? new Map<string, Callback>();
  guards.set(callback, guardsByName);
  // A method of several objects has a guard for each.
  const guard = (owner ? undefined : guardsByName.get(name)) ?? guardOf(kind, name, callback, owner);
  if (!owner) guardsByName.set(name, guard);
  allGuards.add(guard);
  return guard as unknown as Callable;
}

function guardOf(kind: CallbackKind, name: string, callback: Callback, owner?: object): Callback {
  const failed = (error: unknown) => {
    if (kind === "told") return undefined;
    throw callbackFailed(name, error, kind === "quoting");
  };
  return (...args) => {
    try {
      const answer: unknown = Reflect.apply(callback, owner, args);
      if (!isPromise(answer)) return answer;
      const settled = Promise.resolve(answer).catch(failed);
      // It counts as handled: the answer may be needed no longer, or no promise was expected.
      settled.catch(ignore);
      return settled;
    } catch (error) {
      return failed(error);
    }
  };
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  if (typeof value !== "object" || value === null) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

function callbackFailed(name: string, cause: unknown, mayQuote: boolean): PortcullisError {
  if (hasCode(cause, "callback_failed")) return cause;
  const why = mayQuote
    ? ` with ${nameOf(cause)}. The message is left out here, because it may quote what the function was asked about.`
    : `: ${messageOf(cause)}`;
  return new PortcullisError("callback_failed", `The function \`${name}\` failed${why}`, { cause });
}

function nameOf(cause: unknown): string {
  try {
    return cause instanceof Error && /^\w{1,60}$/.test(cause.name) ? cause.name : typeof cause;
  } catch {
    return "an error";
  }
}

/** The message of what a function of the host threw. Its getter may throw. */
function messageOf(cause: unknown): string {
  try {
    return cause instanceof Error ? cause.message : describe(cause);
  } catch {
    return "what it threw cannot be read";
  }
}
