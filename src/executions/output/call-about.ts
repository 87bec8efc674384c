import { cleanText, now } from "../../base/index.ts";
import { commentLine } from "../../tools/declarations/one-line.ts";
import type { Effect } from "../../tools/tool.ts";
import { CHANGES, type GrantWords, grantText } from "./grant-text.ts";

/** Characters of a description that are shown to a person who decides about a call. */
const DESCRIPTION_LENGTH = 300;

/** What a person who decides about a call is told of its tool, in one line: a description of a source is foreign text. */
export function callAbout({
  effect,
  source,
  description,
  policy,
  tool,
  grants = [],
}: {
  readonly tool?: string;
  readonly grants?: readonly GrantWords[];
  readonly effect: Effect;
  readonly source: string | undefined;
  readonly description: string;
  readonly policy?: string | undefined;
}): string {
  const why = policy === undefined ? "" : `${commentLine(policy, DESCRIPTION_LENGTH)} `;
  const by = source === undefined ? "Its description" : `Its source ${JSON.stringify(commentLine(source, 128))} says`;
  const before = grants.map(
    (grant) => `It does not fit what was granted, of which is left: ${grantText(grant, now(), tool)}. `,
  );
  return cleanText(`${before.join("")}${why}${CHANGES[effect]} ${by}: ${commentLine(description, DESCRIPTION_LENGTH)}`);
}
