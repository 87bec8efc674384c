/** Whether a value of a handler is a promise, or looks like one. Throws what a getter of it throws. */
export function isThenable<Value>(value: unknown): value is PromiseLike<Value> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

// oxlint-disable-next-line typescript/unbound-method -- it is applied to promises
const { then } = Promise.prototype;

/** Awaits a promise as `await` does, which does not look for its own `then`: a handler could give one that answers twice. */
export function settled<Value>(
  promise: PromiseLike<Value>,
  fulfilled: (value: Value) => void,
  rejected: (error: unknown) => void,
): void {
  void Reflect.apply(then, Promise.resolve(promise), [fulfilled, rejected]);
}
