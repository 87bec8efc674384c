/** What V8 is asked to parse as a regular expression while work runs. */
export function madeExpressions(work: () => void): readonly string[] {
  const made: string[] = [];
  const own = globalThis.RegExp;
  globalThis.RegExp = new Proxy(own, {
    construct(target, args: [string | RegExp, string?], newTarget) {
      made.push(String(args[0]));
      return Reflect.construct(target, args, newTarget) as RegExp;
    },
    apply(target, self, args: [string | RegExp, string?]) {
      made.push(String(args[0]));
      return Reflect.apply(target, self, args);
    },
  });
  try {
    work();
  } finally {
    globalThis.RegExp = own;
  }
  return made;
}

/** The name of a property of Unicode, which is all of a pattern that V8 is given. */
export const PROPERTY = /^\\p\{(?:\w+=)?\w+\}$/;
