/*
 * A floor for what isolated-vm can do: one isolate a program, in the host's own process, no checks, no limits but its own.
 * Calls leave by a callback that only posts, results come back by one call a host turn, so that neither side waits for
 * the other. Large results are copied as structured clones.
 */
import { createRequire } from "node:module";

const ivm = createRequire(new URL("../../../../package.json", import.meta.url))("isolated-vm");

const GUEST = `
  const open = new Map();
  let last = 0;
  let queue;
  const post = globalThis.post;
  const flush = () => { const calls = queue; queue = undefined; post(JSON.stringify(calls)); };
  globalThis.tools = Object.fromEntries(names.map((name) => [name, (input) => new Promise((resolve) => {
    open.set(++last, resolve);
    if (!queue) { queue = []; Promise.resolve().then(flush); }
    queue.push([last, name, input]);
  })]));
  (id, value) => { if (Array.isArray(id)) for (const [one, result] of id) { open.get(one)(result); open.delete(one); } else { open.get(id)(value); open.delete(id); } };
`;

export async function open({ tools, timeoutMs, memoryMb }) {
  const names = JSON.stringify(Object.keys(tools));
  async function execute(program) {
    const isolate = new ivm.Isolate({ memoryLimit: memoryMb });
    try {
      const context = await isolate.createContext();
      const guest = { settle: undefined };
      let ready;
      const answer = (id, value) => {
        if (Array.isArray(value))
          return guest.settle.applyIgnored(undefined, [id, new ivm.ExternalCopy(value).copyInto({ release: true })]);
        if (!ready) {
          ready = [];
          queueMicrotask(() => {
            const answers = new ivm.ExternalCopy(ready).copyInto({ release: true });
            ready = undefined;
            guest.settle.applyIgnored(undefined, [answers]);
          });
        }
        ready.push([id, value]);
      };
      const post = new ivm.Callback(
        (text) => {
          for (const [id, name, input] of JSON.parse(text))
            void Promise.resolve(tools[name](input)).then((value) => answer(id, value));
        },
        { ignored: true },
      );
      await context.global.set("post", post);
      guest.settle = await context.eval(`const names = ${names};${GUEST}`, { reference: true });
      const text = await context.eval(`(async () => { ${program}\n})().then((value) => JSON.stringify(value))`, {
        promise: true,
        timeout: timeoutMs,
      });
      return text === undefined ? undefined : JSON.parse(text);
    } finally {
      if (!isolate.isDisposed) isolate.dispose();
    }
  }
  return { tool: (name) => `tools.${name}`, execute };
}
