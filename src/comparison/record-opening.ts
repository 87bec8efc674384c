import type { Model, Opening } from "../models/model.ts";

/** A model that records the opening of its conversations. */
export interface OpenedModel {
  readonly model: Model;
  /** The opening of the model's last conversation. Throws before the first conversation. */
  readonly opening: () => Opening;
}

export function recordOpening(model: Model): OpenedModel {
  let last: Opening | undefined;
  return {
    model: {
      name: model.name,
      hostsPrograms: model.hostsPrograms,
      converse(opening) {
        last = opening;
        return model.converse(opening);
      },
    },
    opening() {
      if (!last) throw new Error(`${model.name} has had no conversation.`);
      return last;
    },
  };
}
