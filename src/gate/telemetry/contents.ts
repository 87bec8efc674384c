import type { About, Redactor } from "../../journal/redaction/redactor.ts";
import { cutMiddle } from "../../base/index.ts";
import type { Capture } from "./options.ts";

/** Bytes of a content in a span. The journal has the whole content. */
const CONTENT_BYTES = 16 * 1024;

/** Stands for an input that is not JSON, which a redaction cannot look into. */
const NOT_JSON = "(left out: it is not JSON)";

/** The inputs, results and programs in spans: none, unless they are asked for. A text is redacted before it is cut. */
export function contentsOf(captures: ReadonlySet<Capture>, redactor: Redactor | undefined) {
  return {
    has: (kind: Capture): boolean => captures.has(kind),

    /** A promise only if something is redacted. Never rejects. */
    json(text: string, about: Omit<About, "to">): string | Promise<string> {
      const redacted = redactor?.json(text, { to: "log", ...about });
      if (!redacted) return bounded(text);
      return redacted.then(
        (shown) => bounded(shown.text),
        () => NOT_JSON,
      );
    },

    text(text: string, about: Omit<About, "to"> = {}): string | Promise<string> {
      const redacted = redactor?.text(text, { to: "log", ...about });
      return redacted ? redacted.then((shown) => bounded(shown.text)) : bounded(text);
    },
  };
}

export type Contents = ReturnType<typeof contentsOf>;

function bounded(text: string): string {
  return cutMiddle(text, CONTENT_BYTES).toWellFormed();
}
