import type { Model, Opening } from "../models/model.ts";

/** A model whose opening is kept. */
export interface OpenedModel {
  readonly model: Model;
  /** What it was told at the beginning of its last conversation. Throws where it has had none. */
  readonly opening: () => Opening;
}

export function recordOpening(model: Model): OpenedModel {
  let told: Opening | undefined;
  return {
    model: {
      name: model.name,
      hostsPrograms: model.hostsPrograms,
      converse(opening) {
        told = opening;
        return model.converse(opening);
      },
    },
    opening() {
      if (!told) throw new Error(`${model.name} has had no conversation.`);
      return told;
    },
  };
}
