import { compare } from '../../../core/compare.js';
import { count } from '../../../core/count.js';
import { formatCount } from '../../../core/text/amounts.js';
import { shortenMessage } from '../../../core/printable.js';
import type { Database } from '../../../core/duckdb/connection.js';
import type { Lake } from '../../../lake/lake.js';
import type { Remedy } from '../../remedy.js';
import type { Check } from '../../results.js';
import { unsummedText } from '../../unsummed-amounts.js';

interface CheckDefinition {
  /** What it proves. */
  readonly about: string;
  /** What it counts. */
  readonly counts: string;
  /** What mends its problems of the lake itself; left out where it finds none. */
  readonly mendedBy?: 'reread' | 'rebuild' | 'repair' | 'move';
}

/** Every check by its stable name, in the order of the certificate. */
const definitions = {
  'catalog-chain': {
    about: 'each commit is sealed and follows the one before it',
    counts: 'commits',
    mendedBy: 'repair',
  },
  'published-logs': { about: 'each Delta log has what the catalog has', counts: 'versions', mendedBy: 'repair' },
  'log-tags': { about: 'the log describes each file', counts: 'files', mendedBy: 'repair' },
  'derived-files': { about: 'each slice has all of its files, and no other', counts: 'files', mendedBy: 'repair' },
  windows: { about: 'windows read do not overlap, and none crosses a month', counts: 'slices', mendedBy: 'repair' },
  'unread-events': { about: 'each event of what is loaded could be read', counts: 'slices' },
  'requested-ranges': { about: 'what runs requested is loaded', counts: 'ranges' },
  'file-bytes': { about: 'each file has the size and SHA-256 of the log', counts: 'files', mendedBy: 'reread' },
  'unnamed-files': { about: 'each file in a partition folder is in the log', counts: 'files', mendedBy: 'move' },
  parquet: { about: 'each file can be read as its table', counts: 'files', mendedBy: 'reread' },
  'row-counts': { about: 'each file has the number of rows of the log', counts: 'rows', mendedBy: 'repair' },
  statistics: { about: 'the statistics in the log are correct', counts: 'files', mendedBy: 'repair' },
  partitions: {
    about: 'rows are in the folder and the slice that they belong to',
    counts: 'files',
    mendedBy: 'reread',
  },
  positions: { about: 'no position within a slice occurs twice', counts: 'events', mendedBy: 'reread' },
  'event-ids': { about: 'content_hash and event_id follow from raw', counts: 'events', mendedBy: 'reread' },
  'raw-columns': { about: 'columns of events, groups and payouts follow from raw', counts: 'rows', mendedBy: 'reread' },
  amounts: { about: 'each money object of raw is one entry, to the digit', counts: 'amounts', mendedBy: 'rebuild' },
  roles: { about: 'each entry has the role and kind of its path', counts: 'amounts', mendedBy: 'rebuild' },
  'unique-ids': { about: 'no event_id and no entry occurs twice', counts: 'events', mendedBy: 'repair' },
  'net-sums': { about: 'net sums in the log equal the rows', counts: 'files', mendedBy: 'rebuild' },
  'event-dates': { about: 'events by date are within the requested window', counts: 'events' },
  'group-totals': { about: 'net of each closed group equals its total less its beginning balance', counts: 'groups' },
  'paid-totals': { about: 'paid transactions of each closed group add up to the same', counts: 'groups' },
  'net-proceeds': { about: 'and those of each settlement to its net proceeds', counts: 'settlements' },
  'report-totals': { about: 'lines of each settlement report add up to its total', counts: 'settlements' },
  'report-amounts': { about: 'and each is the total of its group, and of its summary', counts: 'settlements' },
  'report-lines': {
    about: 'each line of a report is in the lake, or its difference is explained',
    counts: 'settlements',
  },
  'date-against-group': { about: 'the same events were received by date and by group', counts: 'groups' },
  'both-apis': { about: 'where v0 returned events, Finances 2024-06-19 returned transactions', counts: 'accounts' },
} as const satisfies Readonly<Record<string, CheckDefinition>>;

export type CheckName = keyof typeof definitions;

export const checks: Readonly<Record<CheckName, CheckDefinition>> = definitions;

const checkNames = Object.keys(checks) as readonly CheckName[];

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
  readonly check: CheckName;
  readonly kind: ProblemKind;
  readonly problem: string;
}

export interface CheckResult extends Check {
  readonly check: CheckName;
}

/** Problems of one check that are listed; further ones are only counted. */
const mostListed = 200;

/** What a verification finds, check by check. */
export class CertificateBuilder {
  readonly #tallies = new Map<CheckName, Tally>();
  /** Amounts that no sum has, by table and currency. */
  readonly #unsummed = new Map<string, Map<string, number>>();

  /** Adds to the number of what a check has looked at. */
  count(check: CheckName, more = 1): void {
    this.#tallyOf(check).checked += more;
  }

  add(
    check: CheckName,
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
    for (const [table, currencies] of other.#unsummed) {
      for (const [currency, times] of currencies) this.countUnsummed(table, currency, times);
    }
  }

  /** Counts amounts that DECIMAL(18,6) can't hold, and that no sum has. */
  countUnsummed(table: string, currency: string, times = 1): void {
    const currencies = this.#unsummed.get(table) ?? new Map<string, number>();
    count(currencies, currency, times);
    this.#unsummed.set(table, currencies);
  }

  /** Adds a note for each table with such amounts: how many, and of which currency. */
  noteUnsummed(): void {
    for (const [table, currencies] of this.#unsummed) {
      const sorted = [...currencies].toSorted(([a], [b]) => compare(a, b));
      const counts = sorted.map(([currency, times]) => `${formatCount(times)} in ${currency || 'no currency'}`);
      const total = [...currencies.values()].reduce((sum, times) => sum + times, 0);
      this.add('amounts', 'note', { table, file: '', slice: '' }, `${unsummedText(total)}: ${counts.join(', ')}`);
    }
  }

  /** Number of problems of a kind, over all checks. */
  found(kind: ProblemKind): number {
    return [...this.#tallies.values()].reduce((sum, { found }) => sum + found[kind], 0);
  }

  results(): CheckResult[] {
    return checkNames.map((check) => {
      const { checked, found } = this.#tallyOf(check);
      const { lake, upstream, note } = found;
      const worst = lake > 0 ? 'failed' : upstream > 0 ? 'finding' : note > 0 ? 'note' : undefined;
      const result = worst ?? (checked === 0 ? 'none' : 'ok');
      const { about, counts } = checks[check];
      return { check, about, checked, counts, result, found: lake + upstream + note };
    });
  }

  /** The listed problems, in the order of the checks. */
  problems(): FoundProblem[] {
    return checkNames.flatMap((check) => this.#tallyOf(check).listed);
  }

  #tallyOf(check: CheckName): Tally {
    const tally = this.#tallies.get(check) ?? { checked: 0, found: { lake: 0, upstream: 0, note: 0 }, listed: [] };
    this.#tallies.set(check, tally);
    return tally;
  }
}

interface Tally {
  checked: number;
  readonly found: Record<ProblemKind, number>;
  readonly listed: FoundProblem[];
}

/** Faults of rows by check and file: a count and a few examples, so that memory stays bounded. */
export class RowFaults {
  readonly #noun: string;
  readonly #found = new Map<string, { check: CheckName; file: ProblemLocation; count: number; examples: string[] }>();

  /** @param noun what has a fault: `event` */
  constructor(noun: string) {
    this.#noun = noun;
  }

  add(check: CheckName, file: ProblemLocation, fault: string | undefined): void {
    if (fault === undefined) return;
    const key = `${check} ${file.file}`;
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

export interface CheckContext {
  readonly lake: Lake;
  readonly certificate: CertificateBuilder;
  readonly database: Database;
  readonly signal: AbortSignal;
}
