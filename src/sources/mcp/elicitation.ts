import { MalformedMessage, type Message } from "./wire.ts";
import { isFields } from "../../values/fields.ts";

/** What a server asks in the midst of a call; an approver sees it as the input of the call. */
export interface Question {
  readonly elicitation: { readonly message: string; readonly fields: readonly string[] };
}

/** Characters of a question that an approver is shown, names of its fields, and their length. */
const MESSAGE_LENGTH = 4096;
const FIELDS = 100;
const FIELD_LENGTH = 256;
/** Questions that a server may put in place of one result. */
const QUESTIONS = 16;

/**
 * Has the questions decided that a server put in place of a result, and gives what the call is repeated with. A question is
 * accepted only if it needs no field: an approver decides, and writes nothing. Rejects where the server asks for anything
 * else, which it was told that it cannot.
 */
export async function readAnswers(
  { inputRequests = {}, requestState }: Message,
  ask: (question: Question) => Promise<boolean>,
): Promise<Message> {
  const entries = isFields(inputRequests) ? Object.entries(inputRequests) : [];
  if (entries.length > QUESTIONS) throw new MalformedMessage(`The server asked ${entries.length} questions at once.`);
  const answers: [string, unknown][] = [];
  for (const [key, request] of entries) {
    if (!isFields(request) || request.method !== "elicitation/create" || !isFields(request.params))
      throw new MalformedMessage("The server asked for something that it was told that it cannot have.");
    answers.push([key, await answerOf(request.params, ask)]);
  }
  if (answers.length === 0 && typeof requestState !== "string")
    throw new MalformedMessage("The server asked for input without a question.");
  return {
    ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) }),
    ...(typeof requestState === "string" ? { requestState } : {}),
  };
}

async function answerOf(params: Message, ask: (question: Question) => Promise<boolean>): Promise<Message> {
  const { mode = "form", message, requestedSchema } = params;
  if (mode !== "form" || typeof message !== "string") return { action: "cancel" };
  const schema = isFields(requestedSchema) ? requestedSchema : {};
  const fields = isFields(schema.properties) ? Object.keys(schema.properties) : [];
  const question = {
    elicitation: {
      message: message.slice(0, MESSAGE_LENGTH),
      fields: fields.slice(0, FIELDS).map((field) => field.slice(0, FIELD_LENGTH)),
    },
  };
  if (!(await ask(question))) return { action: "decline" };
  const required = Array.isArray(schema.required) ? schema.required : [];
  return required.length === 0 ? { action: "accept", content: {} } : { action: "cancel" };
}
