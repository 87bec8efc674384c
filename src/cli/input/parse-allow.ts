import { nearest } from "../../options/nearest.ts";
import type { ToolPolicy } from "../../sources/tool-policy.ts";
import { isMeantBy } from "../../tools/tool-name.ts";
import { type Effect, EFFECTS } from "../../tools/tool.ts";
import { EXIT } from "../exit-code.ts";
import { Failure } from "../failure.ts";

/** `--allow files.*=read`: programs may call these tools, and what a call changes. */
export interface Allowed {
  /** A name, a namespace with `.*` behind it, or `*`. */
  readonly pattern: string;
  readonly effect: Effect;
}

function parseAllow(text: string): Allowed {
  const [pattern = "", effect = "", ...rest] = text.split("=");
  const known = EFFECTS.find((one) => one === effect);
  if (pattern === "" || known === undefined || rest.length > 0)
    throw new Failure(
      EXIT.usage,
      `--allow: expected tools and their effect, like files.*=read (${EFFECTS.join(", ")}), got ${JSON.stringify(text)}.`,
    );
  return { pattern, effect: known };
}

/** Applies the options `--allow` to tools that nothing else is said about. The last one that names a tool decides. */
export class AllowList {
  readonly #allowed: readonly Allowed[];
  readonly #applied = new Set<Allowed>();

  constructor(texts: readonly string[]) {
    this.#allowed = texts.map(parseAllow);
  }

  policyOf(name: string): ToolPolicy | undefined {
    const fitting = this.#allowed.filter(({ pattern }) => isMeantBy(pattern, name));
    for (const one of fitting) this.#applied.add(one);
    const effect = fitting.at(-1)?.effect;
    return effect && { allowedCallers: ["programmatic"], effect };
  }

  /** Throws a `Failure` for an option that had nothing to allow. `names` are those of all tools of servers. */
  refuseUnused(names: readonly string[]): void {
    const unused = this.#allowed.find((one) => !this.#applied.has(one));
    if (!unused) return;
    const { pattern, effect } = unused;
    const subject = `--allow ${pattern}=${effect}`;
    if (names.some((name) => isMeantBy(pattern, name)))
      throw new Failure(EXIT.usage, `${subject}: the configuration file says already who may call these tools.`);
    const candidates = [...names, ...new Set(names.map((name) => `${name.split(".")[0]}.*`))];
    const [meant] = nearest(pattern, candidates, 1);
    throw new Failure(
      EXIT.usage,
      `${subject}: no server has such a tool${meant === undefined ? "." : `, did you mean ${meant}?`}`,
    );
  }
}
