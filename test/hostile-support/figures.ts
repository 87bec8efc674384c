const MIB = 1024 * 1024;

/** What one attack cost, as far as there is a bound for it. */
export interface Figures {
  /** Time beyond the limit that the attack ran into; below zero where it ended before. */
  readonly overMs: number;
  readonly gapMs: number;
  readonly ownGapMs: number;
  readonly keptBytes: number;
  readonly peakBytes: number;
  readonly cpuAfterMs: number;
  readonly nextMs: number;
}

interface Line {
  readonly name: string;
  readonly figures: Figures;
}

/** Figures of all attacks, for a table of the worst of each class. */
export class FigureTable {
  readonly #classes = new Map<string, Line[]>();

  add(name: string, figures: Figures): void {
    const [group = ""] = name.split("-", 1);
    const lines = this.#classes.get(group) ?? [];
    lines.push({ name, figures });
    this.#classes.set(group, lines);
  }

  /** One line for each class, in the order in which they came. */
  get text(): string {
    const rows = [...this.#classes].map(([group, lines]) => {
      const worst = (figure: keyof Figures) => Math.max(...lines.map(({ figures }) => figures[figure]));
      return [
        group,
        String(lines.length),
        worst("overMs").toFixed(0),
        worst("gapMs").toFixed(0),
        worst("ownGapMs").toFixed(0),
        (worst("peakBytes") / MIB).toFixed(0),
        (worst("keptBytes") / MIB).toFixed(0),
        worst("cpuAfterMs").toFixed(0),
        worst("nextMs").toFixed(1),
      ];
    });
    const table = [HEADINGS, ...rows];
    const widths = HEADINGS.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
    return table.map((row) => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join("  ")).join("\n");
  }
}

const HEADINGS = [
  "worst of",
  "attacks",
  "ms over limit",
  "gap ms",
  "of its own",
  "peak MiB",
  "kept MiB",
  "cpu ms after",
  "next program ms",
];
