import type { Model, Opening } from "../models/model.ts";

/** A model that records the opening of its conversations. */
export function recordOpening(model: Model) {
  let last: Opening | undefined;
  const recorded: Model = {
    name: model.name,
    hostsPrograms: model.hostsPrograms,
    converse(opening) {
      last = opening;
      return model.converse(opening);
    },
  };
  return {
    model: recorded,
    /** The opening of the model's last conversation. Throws before the first conversation. */
    opening: (): Opening => {
      if (!last) throw new Error(`${model.name} has had no conversation.`);
      return last;
    },
  };
}
