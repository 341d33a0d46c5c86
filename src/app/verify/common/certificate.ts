import { shortenMessage } from '../../../core/printable.js';
import type { Lake } from '../../../lake/lake.js';
import type { Remedy } from '../../remedy.js';
import type { Check as CheckResult } from '../../results.js';

/** What a check proves, and what mends what it finds. */
export interface CheckDefinition {
  /** Stable. */
  readonly name: string;
  /** What it proves. */
  readonly about: string;
  /** What it counts. */
  readonly counts: string;
  /** Whether it proves the log alone, which all accounts share. */
  readonly isOfCatalog?: true;
  /** What `repair` takes out where the check finds a problem of the lake: the file's entry in the catalog, or the load key. */
  readonly takenOut?: 'file' | 'load';
  /** What mends a problem of the lake; left out, or undefined: `repair` where it takes something out, else nothing. */
  readonly remedy?: (problem: FoundProblem, lake: Lake) => Remedy | undefined;
}

/**
 * Where the cause of a problem lies: `lake` in the lake itself; `upstream` in the service, which contradicts itself or
 * has not returned what was requested; `note`: it may be no problem.
 */
export type ProblemKind = (typeof problemKinds)[number];

const problemKinds = ['lake', 'upstream', 'note'] as const;

/** The location of a problem; empty where it concerns no single table, file or slice. */
export interface ProblemLocation {
  readonly table: string;
  /** Relative to the lake. */
  readonly file: string;
  /** `window/…`, `group/…`, `order/…`; for several slices the first and the number of others. */
  readonly slice: string;
  /** The account of the rows, for the commands in the text; left out where the check doesn't know it. */
  readonly account?: string;
  /** What repairs the problem; left out where its check, table and file suggest it. */
  readonly remedy?: Remedy;
}

export interface FoundProblem extends ProblemLocation {
  readonly check: CheckDefinition;
  readonly kind: ProblemKind;
  readonly problem: string;
}

/** Problems of one check that are listed; further ones are only counted. */
const mostListed = 200;

/** What a verification finds, check by check. */
export class CertificateBuilder {
  readonly #tallies: Map<CheckDefinition, Tally>;

  /** @param checks in the order of the results */
  constructor(checks: readonly CheckDefinition[] = []) {
    this.#tallies = new Map(checks.map((check) => [check, newTally()]));
  }

  /** Adds to the number of what a check has looked at. */
  count(check: CheckDefinition, more = 1): void {
    this.#tallyOf(check).checked += more;
  }

  add(
    check: CheckDefinition,
    kind: ProblemKind,
    { table, file, slice, account, remedy }: ProblemLocation,
    problem: string,
  ): void {
    const { found, listed } = this.#tallyOf(check);
    found[kind]++;
    if (listed.length < mostListed) {
      // The text may quote bytes of a damaged file: it is cut to a bounded length.
      const loads = { ...(account === undefined ? {} : { account }), ...(remedy && { remedy }) };
      listed.push({ check, kind, table, file, slice, ...loads, problem: shortenMessage(problem) });
    }
  }

  /** Adds all that another certificate has. */
  addAll(other: CertificateBuilder): void {
    for (const [check, { checked, found, listed }] of other.#tallies) {
      const own = this.#tallyOf(check);
      own.checked += checked;
      for (const kind of problemKinds) own.found[kind] += found[kind];
      own.listed.push(...listed.slice(0, mostListed - own.listed.length));
    }
  }

  /** Number of problems of a kind, over all checks. */
  found(kind: ProblemKind): number {
    return [...this.#tallies.values()].reduce((sum, { found }) => sum + found[kind], 0);
  }

  results(): CheckResult[] {
    return Array.from(this.#tallies, ([{ name, about, counts }, { checked, found }]) => {
      const { lake, upstream, note } = found;
      const worst = lake > 0 ? 'failed' : upstream > 0 ? 'finding' : note > 0 ? 'note' : undefined;
      const result = worst ?? (checked === 0 ? 'none' : 'ok');
      return { check: name, about, checked, counts, result, found: lake + upstream + note };
    });
  }

  /** The listed problems, in the order of the checks. */
  problems(): FoundProblem[] {
    return [...this.#tallies.values()].flatMap(({ listed }) => listed);
  }

  #tallyOf(check: CheckDefinition): Tally {
    let tally = this.#tallies.get(check);
    if (tally === undefined) this.#tallies.set(check, (tally = newTally()));
    return tally;
  }
}

interface Tally {
  checked: number;
  readonly found: Record<ProblemKind, number>;
  readonly listed: FoundProblem[];
}

function newTally(): Tally {
  return { checked: 0, found: { lake: 0, upstream: 0, note: 0 }, listed: [] };
}

/** Faults of rows by check and file: a count and a few examples, so that memory stays bounded. */
export class RowFaults {
  readonly #noun: string;
  readonly #found = new Map<
    string,
    { check: CheckDefinition; file: ProblemLocation; count: number; examples: string[] }
  >();

  /** @param noun what has a fault: `event` */
  constructor(noun: string) {
    this.#noun = noun;
  }

  add(check: CheckDefinition, file: ProblemLocation, fault: string | undefined): void {
    if (fault === undefined) return;
    const key = `${check.name} ${file.file}`;
    const found = this.#found.get(key) ?? { check, file, count: 0, examples: [] };
    this.#found.set(key, found);
    found.count++;
    if (found.examples.length < 3) found.examples.push(fault);
  }

  /** Adds a problem for each check and file: `2 events: …; …`. */
  addTo(certificate: CertificateBuilder): void {
    for (const { check, file, count, examples } of this.#found.values()) {
      const more = count > examples.length ? `; and ${count - examples.length} more` : '';
      const what = `${count} ${this.#noun}${count === 1 ? '' : 's'}`;
      certificate.add(check, 'lake', file, `${what}: ${examples.join('; ')}${more}`);
    }
  }
}
