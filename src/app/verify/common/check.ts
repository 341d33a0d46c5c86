import type { Database } from '../../../core/duckdb/connection.js';
import { shortenMessage } from '../../../core/printable.js';
import type { Lake } from '../../../lake/lake.js';
import type { LakeRuns } from '../../../lake/leases.js';
import type { UnfinishedRange } from '../../coverage/unfinished-ranges.js';
import type { Remedy } from '../../remedy.js';
import type { CatalogVersion, Check, Problem } from '../../results.js';
import type { Comparable, Settlement } from '../../settlements/settlements.js';
import type { CheckedFile, ProblemLocation, TableFiles, UndescribedFile } from './checked-files.js';
import type { EventRules } from './event-rules.js';
import type { IndexTables, SettlementTotal } from './index-tables.js';
import type { EntryRow, Walked } from './money-walk.js';

/**
 * A check of `verify`: its texts, what mends what it finds, and what it does at each stage. A stage tells the certificate of its context
 * how much it has looked at, and what is wrong; where one read proves several things, for other checks too.
 */
export interface CheckDefinition {
  /** Stable; that of its file. */
  readonly name: string;
  /** What it proves. */
  readonly about: string;
  /** What it counts. */
  readonly counts: string;
  /** Whether it proves the log alone, which all accounts share. */
  readonly isOfCatalog?: true;
  /** What the verdict counts by it; rows where there are no events. */
  readonly verdict?: 'file' | 'row' | 'event' | 'amount' | 'closed group';
  /** Whether its findings are days that the lake lacks: all that it has may be right. */
  readonly findsUnloaded?: true;
  /** What `repair` takes out where the check finds a problem of the lake: the file's entry in the catalog, or the load key. */
  readonly takenOut?: 'file' | 'load';
  /** What mends a problem of the lake; left out, or undefined: `repair` where it takes something out, else nothing. */
  readonly remedy?: (problem: FoundProblem, lake: Lake) => Remedy | undefined;
  /** Before files are read: the catalog and what it names. */
  readonly catalog?: (context: CatalogContext) => Promise<void> | void;
  /**
   * The bytes of a file, before its rows are read: returns whether these are worth reading. The next backup copies a file again whose bytes
   * have a problem.
   */
  readonly bytes?: (file: CheckedFile, context: CheckContext) => Promise<boolean>;
  /** Files of one table and account. Where DuckDB can't run a statement over them, they are unreadable. */
  readonly files?: (files: TableFiles, context: CheckContext) => Promise<void> | void;
  /** An event with its entries. */
  readonly event?: (event: ReadEvent, context: CheckContext) => void;
  /** At the end: what files have is compared. */
  readonly across?: (comparison: Comparison) => Promise<void> | void;
  /** Whether it reads the rows of a file at the end, too. */
  readonly readsAgain?: (file: CheckedFile, lake: Lake) => boolean;
}

/** Where the catalog is checked. */
export interface CatalogContext {
  readonly lake: Lake;
  /** Undefined: every account. */
  readonly account: string | undefined;
  readonly accounts: readonly string[];
  readonly files: readonly CheckedFile[];
  /** Files of which nothing more is read, as the catalog doesn't describe them. */
  readonly undescribed: readonly UndescribedFile[];
  readonly runs: LakeRuns;
  /** What runs requested and didn't load. */
  readonly unfinished: readonly UnfinishedRange[];
  /** A version that the catalog must have, as a user kept it. */
  readonly expected: CatalogVersion | undefined;
  readonly certificate: CertificateBuilder;
}

/** Where files are checked. */
export interface CheckContext {
  readonly lake: Lake;
  readonly database: Database;
  readonly certificate: CertificateBuilder;
}

/** What is known of all files of a lake, for checks that compare them. No check adds to it: `IndexTables` keeps it while files are read. */
export interface Comparison extends CheckContext, Comparable {
  readonly accounts: readonly string[];
  readonly index: IndexTables;
  readonly summaries: readonly SettlementTotal[];
  readonly reports: readonly SettlementTotal[];
  /** The undamaged files that a check reads again. */
  readonly readAgain: readonly CheckedFile[];
  /** The settlements whose events of v0 are all there. */
  readonly loaded: readonly Settlement[];
  /** Those that would be loaded, had `forget` not removed events of them. */
  readonly forgotten: readonly Settlement[];
  /**
   * Whether a period began where `forget --before` has removed rows that no run has read again since, and before all that the lake has of the
   * account by date.
   */
  readonly isForgotten: (period: Pick<Settlement, 'account' | 'start'>) => boolean;
}

/** An event as it is stored, with its entries and with what follows from `raw`. */
export interface ReadEvent {
  readonly eventId: string;
  readonly contentHash: string;
  readonly list: string;
  readonly isDated: boolean;
  /** Milliseconds since 1970. */
  readonly windowStart: number | null;
  readonly windowEnd: number | null;
  readonly groupId: string | null;
  readonly requestedOrderId: string | null;
  /** The values of the columns that follow from `raw`, as `rawColumnsSql` names them. */
  readonly columns: readonly (string | null)[];
  readonly raw: string;
  readonly file: CheckedFile;
  readonly rules: EventRules;
  /** The money of `raw`; a text says why it can't be read. */
  readonly walked: Walked | string;
  /** Whether the entries are those that follow from `raw`. */
  readonly isProved: boolean;
  /** None where they are proved. */
  readonly entries: readonly EntryRow[];
  /** Number of its entries. */
  readonly amounts: number;
}

/** A problem as its check has found it. */
export interface FoundProblem extends ProblemLocation {
  readonly check: CheckDefinition;
  /**
   * Where its cause lies: `lake` in the lake itself; `upstream` in the service, which contradicts itself or has not returned what was
   * requested; `note`: it may be no problem.
   */
  readonly kind: Problem['kind'];
  readonly problem: string;
}

/** What repairs a problem: its own remedy, else that of its check; undefined where nothing is known. */
export function problemRemedy(problem: FoundProblem, lake: Lake): Remedy | undefined {
  const { check, kind, remedy } = problem;
  if (remedy !== undefined || kind !== 'lake') return remedy;
  return check.remedy?.(problem, lake) ?? (check.takenOut === undefined ? undefined : { kind: 'repair' });
}

/** Problems of one check that are listed; further ones are only counted. */
const mostListed = 200;
/** Faulty rows of a file that its problem quotes, so that memory stays bounded. */
const mostExamples = 3;

/** What a verification finds, check by check. */
export class CertificateBuilder {
  readonly #tallies: Map<CheckDefinition, Tally>;
  readonly #rows = new Map<string, { count: number; readonly examples: string[] }>();

  /** @param checks in the order of the results */
  constructor(checks: readonly CheckDefinition[] = []) {
    this.#tallies = new Map(checks.map((check) => [check, newTally()]));
  }

  /** Adds to the number of what a check has looked at. */
  count(check: CheckDefinition, more = 1): void {
    this.#tallyOf(check).checked += more;
  }

  add(check: CheckDefinition, kind: FoundProblem['kind'], location: ProblemLocation, problem: string): void {
    // The text may quote bytes of a damaged file: it is cut to a bounded length.
    const text = shortenMessage(problem);
    this.#list(check, kind, location, () => text);
  }

  /**
   * Adds a row of a file that is wrong: those of a file are one problem, `2 events: …; …`.
   *
   * @param noun what the rows are: `event`
   * @param fault undefined: the row is right
   */
  addRow(check: CheckDefinition, file: ProblemLocation, noun: string, fault: string | undefined): void {
    if (fault === undefined) return;
    const key = `${check.name} ${file.file}`;
    let rows = this.#rows.get(key);
    if (rows === undefined) {
      const found = { count: 0, examples: [] };
      this.#rows.set(key, (rows = found));
      this.#list(check, 'lake', file, () => shortenMessage(rowsText(found, noun)));
    }
    rows.count++;
    if (rows.examples.length < mostExamples) rows.examples.push(fault);
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
  found(kind: FoundProblem['kind']): number {
    return [...this.#tallies.values()].reduce((sum, { found }) => sum + found[kind], 0);
  }

  results(): Check[] {
    return Array.from(this.#tallies, ([{ name, about, counts }, { checked, found }]) => {
      const { lake, upstream, note } = found;
      const worst = lake > 0 ? 'failed' : upstream > 0 ? 'finding' : note > 0 ? 'note' : undefined;
      const result = worst ?? (checked === 0 ? 'none' : 'ok');
      return { check: name, about, checked, counts, result, found: lake + upstream + note };
    });
  }

  /** The listed problems, in the order of the checks. */
  problems(): FoundProblem[] {
    return [...this.#tallies.values()].flatMap(({ listed }) => listed.map((found) => found()));
  }

  #list(check: CheckDefinition, kind: FoundProblem['kind'], location: ProblemLocation, problem: () => string): void {
    const { found, listed } = this.#tallyOf(check);
    found[kind]++;
    if (listed.length >= mostListed) return;
    const { table, file, loadKey, account, remedy } = location;
    const loads = { ...(account === undefined ? {} : { account }), ...(remedy && { remedy }) };
    listed.push(() => ({ check, kind, table, file, loadKey, ...loads, problem: problem() }));
  }

  #tallyOf(check: CheckDefinition): Tally {
    let tally = this.#tallies.get(check);
    if (tally === undefined) this.#tallies.set(check, (tally = newTally()));
    return tally;
  }
}

const problemKinds = ['lake', 'upstream', 'note'] as const;

interface Tally {
  checked: number;
  readonly found: Record<FoundProblem['kind'], number>;
  readonly listed: (() => FoundProblem)[];
}

function newTally(): Tally {
  return { checked: 0, found: { lake: 0, upstream: 0, note: 0 }, listed: [] };
}

function rowsText({ count, examples }: { readonly count: number; readonly examples: readonly string[] }, noun: string) {
  const more = count > examples.length ? `; and ${count - examples.length} more` : '';
  return `${count} ${noun}${count === 1 ? '' : 's'}: ${examples.join('; ')}${more}`;
}
