import type { Effect, Tool } from "../tool.ts";
import { stem, wordsOf } from "./words.ts";

/** What a tool does, or what a query asks for, in the verbs of most APIs. */
export type Action = "list" | "get" | "create" | "update" | "delete";

/** The verbs of tools. `post` is missing: as a method of HTTP it says nothing. */
const VERBS_OF_TOOLS: Readonly<Record<Action, string>> = {
  list: "list search find query lookup browse",
  get: "get read retrieve fetch show view check download export display describe return obtain",
  create: "create add insert new register upload import make generate open start send provision buy invite schedule",
  update: "update edit change modify patch set replace rename put mark alter enable assign",
  delete: "delete remove destroy clear revoke erase unsubscribe unfollow trash cancel discard uninstall",
};

/** First words of queries. Some ask for one of several actions. */
const FIRST_WORDS: Readonly<Record<Action, string>> = {
  list: "which who list search find browse lookup query",
  get: "what when where how whose is are does did was were show get see view read look fetch retrieve count check compare download display listen turn export",
  create:
    "add create make new open post give grant invite start launch trigger run upload attach book buy order schedule register write draft issue send put publish save log record subscribe sign set request comment reply react vote fork star remind tell notify email mail message text ring dial call hand generate submit",
  update:
    "update edit change modify rename set mark put move assign resize scale enable disable turn lock pin replace restore reopen transfer hand adjust make close resolve protect archive approve reject accept decline",
  delete:
    "delete remove drop clear kick ban block revoke stop cancel unsubscribe unfollow throw undo erase discard forget empty end",
};

const actionOfVerb = new Map(pairsOf(VERBS_OF_TOOLS).map(([action, verb]) => [stem(verb), action] as const));
const actionsOfFirstWord = new Map(
  [...Map.groupBy(pairsOf(FIRST_WORDS), ([, word]) => word)].map(
    ([word, pairs]) => [word, new Set(pairs.map(([action]) => action))] as const,
  ),
);

function pairsOf(verbs: Readonly<Record<Action, string>>): (readonly [Action, string])[] {
  return Object.entries(verbs).flatMap(([action, words]) =>
    words.split(" ").map((word) => [action as Action, word] as const),
  );
}

/** Characters of a description in which its first word ends. */
const FIRST_WORD_LENGTH = 60;

/** By the first word of its description, else by the first verb of its name. Undefined if neither tells. */
export function actionOf({ description, effect }: Tool, ownName: readonly string[]): Action | undefined {
  const [first = ""] = wordsOf(description.slice(0, FIRST_WORD_LENGTH));
  for (const word of [first, ...ownName]) {
    const action = actionOfVerb.get(word);
    if (action) return action;
  }
  return effect === "read" ? "get" : undefined;
}

const NONE: ReadonlySet<Action> = new Set();

/** The actions that a query may ask for, by its first word; none if that does not tell. */
export function actionsAskedFor(query: string): ReadonlySet<Action> {
  const first = /\p{L}{1,32}/u.exec(query.slice(0, 200))?.[0].toLowerCase() ?? "";
  return actionsOfFirstWord.get(first) ?? NONE;
}

/** Weight of what a tool does against what is asked for. Chosen on the queries of test/tools/search. */
const EFFECT_SHARE = 0.25;
const SAME_ACTION = 1.4;
const OTHER_ACTION = 0.9;
/** One deletes and the other does not. */
const OPPOSITE_ACTION = 0.7;

/** A factor for a tool's score: how well what it does fits what is asked for. */
export function actionFit(asked: ReadonlySet<Action>, action: Action | undefined, effect: Effect): number {
  if (asked.size === 0) return 1;
  const [reads, changes] = [
    asked.has("list") || asked.has("get"),
    asked.has("create") || asked.has("update") || asked.has("delete"),
  ];
  const fits = (effect === "read") === reads;
  const byEffect = reads === changes ? 1 : fits ? 1 + EFFECT_SHARE : 1 - EFFECT_SHARE;
  if (!action) return byEffect;
  if (asked.has(action)) return byEffect * SAME_ACTION;
  return byEffect * (asked.has("delete") === (action === "delete") ? OTHER_ACTION : OPPOSITE_ACTION);
}
