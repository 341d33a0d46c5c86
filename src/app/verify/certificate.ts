import { checkNames, checks, type CheckName } from './checks.js';

/**
 * Whose problem it is: `lake` what is wrong with the lake itself, `upstream` where upstream contradicts itself, `note`
 * what may be as it should.
 */
export type ProblemKind = 'lake' | 'upstream' | 'note';

/** Where a problem is; empty where it concerns no single table, file or slice. */
export interface Place {
  readonly table: string;
  /** Relative to the lake. */
  readonly file: string;
  /** `window/…`, `group/…`, `order/…`; of several the first and how many more. */
  readonly slice: string;
}

export interface Problem extends Place {
  readonly check: CheckName;
  readonly kind: ProblemKind;
  readonly problem: string;
}

/** What became of one check. */
export interface CheckResult {
  readonly check: CheckName;
  readonly about: string;
  /** How many of `counts` were looked at. */
  readonly checked: number;
  readonly counts: string;
  /** `failed` for a problem of the lake, `finding` for one of upstream's, `note` else; `none` where there was nothing to check. */
  readonly result: 'ok' | 'failed' | 'finding' | 'note' | 'none';
  /** Problems found, those not listed included. */
  readonly found: number;
}

/** Problems of one check that are listed; the rest is counted. */
const mostListed = 200;

/** What a verification finds, check by check. */
export class Certificate {
  readonly #checked = new Map<CheckName, number>();
  readonly #found = new Map<CheckName, Map<ProblemKind, number>>();
  readonly #problems = new Map<CheckName, Problem[]>();

  /** So many more were looked at. */
  count(check: CheckName, more = 1): void {
    this.#checked.set(check, (this.#checked.get(check) ?? 0) + more);
  }

  add(check: CheckName, kind: ProblemKind, { table, file, slice }: Place, problem: string): void {
    const kinds = this.#found.get(check) ?? new Map<ProblemKind, number>();
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    this.#found.set(check, kinds);
    const listed = this.#problems.get(check) ?? [];
    if (listed.length < mostListed) listed.push({ check, kind, table, file, slice, problem });
    this.#problems.set(check, listed);
  }

  /** How many problems of a kind were found, over all checks. */
  found(kind: ProblemKind): number {
    return [...this.#found.values()].reduce((sum, kinds) => sum + (kinds.get(kind) ?? 0), 0);
  }

  results(): CheckResult[] {
    return checkNames.map((check) => {
      const kinds = this.#found.get(check) ?? new Map<ProblemKind, number>();
      const checked = this.#checked.get(check) ?? 0;
      return {
        check,
        about: checks[check].about,
        checked,
        counts: checks[check].counts,
        result: resultOf(kinds, checked),
        found: [...kinds.values()].reduce((sum, found) => sum + found, 0),
      };
    });
  }

  /** The problems listed, in the order of the checks. */
  problems(): Problem[] {
    return checkNames.flatMap((check) => this.#problems.get(check) ?? []);
  }
}

function resultOf(kinds: ReadonlyMap<ProblemKind, number>, checked: number): CheckResult['result'] {
  if (kinds.has('lake')) return 'failed';
  if (kinds.has('upstream')) return 'finding';
  if (kinds.has('note')) return 'note';
  return checked === 0 ? 'none' : 'ok';
}

/** Faults of one file's rows under one check: counted, with a few examples, so that memory doesn't grow with them. */
export class Faults {
  readonly #examples: string[] = [];
  count = 0;

  add(example: string): void {
    this.count++;
    if (this.#examples.length < 3) this.#examples.push(example);
  }

  /** `2 events: …; …`, or undefined where there is none. */
  text(noun: string): string | undefined {
    if (this.count === 0) return undefined;
    const more = this.count > this.#examples.length ? `; and ${this.count - this.#examples.length} more` : '';
    return `${this.count} ${noun}${this.count === 1 ? '' : 's'}: ${this.#examples.join('; ')}${more}`;
  }
}
