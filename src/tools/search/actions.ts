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
  list: "all any do each every everybody everyone which who list search find browse lookup query is are does did was were am has have",
  get: "do preview what when where how whose is are does did was were am has have show get see view read look fetch retrieve count check compare download display listen turn export recommend suggest summarise summarize explain",
  create:
    "begin prepare draw produce compose allow let permit reserve add create make new open post give grant invite start launch trigger run upload attach book buy order schedule register write draft issue send put publish save log record subscribe sign set request comment reply react vote fork star remind tell notify email mail message text ring dial call hand generate submit pay charge refund copy duplicate clone connect link bind share forward deploy install import merge follow file raise",
  update:
    "allow let permit narrow restrict limit combine activate deactivate prevent force switch update edit change modify rename set mark put move assign resize scale enable disable turn lock pin replace restore reopen transfer hand adjust make close resolve protect archive approve reject accept decline connect link bind restart rotate reset renew refresh mute unmute snooze hide extend increase decrease raise lower more less fewer pause resume complete finish fix",
  delete:
    "delete remove drop clear kick ban block revoke stop cancel unsubscribe unfollow throw undo erase discard forget empty end evict detach disconnect unlink uninstall purge leave close",
};

const actionOfVerb = new Map(pairsOf(VERBS_OF_TOOLS).map(([action, verb]) => [stem(verb), action] as const));
const actionsOfFirstWord = new Map<string, Set<Action>>();
for (const [action, word] of pairsOf(FIRST_WORDS))
  actionsOfFirstWord.set(word, (actionsOfFirstWord.get(word) ?? new Set()).add(action));

function pairsOf(verbs: Readonly<Record<Action, string>>): (readonly [Action, string])[] {
  return Object.entries(verbs).flatMap(([action, words]) =>
    words.split(" ").map((word) => [action as Action, word] as const),
  );
}

export function isVerb(stemmed: string): boolean {
  return actionOfVerb.has(stemmed);
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
const LIST: ReadonlySet<Action> = new Set(["list"]);
const CREATE: ReadonlySet<Action> = new Set(["create"]);
const DELETE: ReadonlySet<Action> = new Set(["delete"]);

/** Words of a query that may tell what it asks for. */
const OPENING_WORDS = 3;

/** The actions that a query may ask for, by how it begins; none if that does not tell. `unread messages …` asks for a list. */
export function actionsAskedFor(query: string): ReadonlySet<Action> {
  const opening = (query.slice(0, 200).match(/\p{L}{1,32}/gu) ?? [])
    .slice(0, OPENING_WORDS)
    .map((word) => word.toLowerCase());
  const [first = "", second] = opening;
  if (first === "set" && second === "up") return CREATE;
  if ((first === "take" ? /\b(?:away|down|off|out)\b/ : /\b(?:any ?more|no longer)\b/).test(query)) return DELETE;
  const actions = actionsOfFirstWord.get(first);
  if (actions && !actions.has("get")) return actions;
  return opening.slice(actions ? 1 : 0).some(isPlural) ? LIST : (actions ?? NONE);
}

function isPlural(word: string): boolean {
  return word.length > 3 && /[^isu]s$/.test(word);
}

/** Weight of what a tool does against what is asked for. Chosen on the queries of test/tools/search. */
const EFFECT_SHARE = 0.25;
const SAME_ACTION = 1.4;
const OTHER_ACTION = 0.9;
/** One deletes and the other does not. */
const OPPOSITE_ACTION = 0.7;
/** Whoever wants something deleted says so: for a query that does not tell what it asks for. */
const UNASKED_DELETE = 0.75;

/** A factor for a tool's score: how well what it does fits what is asked for. */
export function actionFit(asked: ReadonlySet<Action>, action: Action | undefined, effect: Effect): number {
  if (asked.size === 0) return action === "delete" ? UNASKED_DELETE : 1;
  const [reads, changes] = [
    asked.has("list") || asked.has("get"),
    asked.has("create") || asked.has("update") || asked.has("delete"),
  ];
  const fits = (effect === "read") === reads;
  const byEffect = reads === changes ? 1 : fits ? 1 + EFFECT_SHARE : 1 - EFFECT_SHARE;
  if (!action) return byEffect;
  if (asked.has(action)) return byEffect * SAME_ACTION;
  // Many tools that get something get several.
  if (asked.has("list") && action === "get") return byEffect;
  return byEffect * (asked.has("delete") === (action === "delete") ? OTHER_ACTION : OPPOSITE_ACTION);
}
