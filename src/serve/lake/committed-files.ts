import type { Add } from '../../lake/delta/actions.js';
import type { DeltaTable } from '../../lake/delta/delta-table.js';
import { loadKeysOf } from '../../lake/delta/file-tags.js';

/** A committed file of one account, and what the log tells of its rows. */
export interface CommittedFile {
  /** Within the lake. */
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  readonly rows: number;
  /** Its least and greatest instant, microseconds since 1970; where the log doesn't tell, the least and greatest there are. */
  readonly least: bigint;
  readonly greatest: bigint;
  readonly units: readonly string[];
}

/** Before and after every instant that a column holds, microseconds since 1970. */
export const earliest = -(2n ** 63n);
export const latest = 2n ** 63n - 1n;

/** The files of one account in a main table, as of the newest version of its log that was read. */
export class CommittedFiles {
  readonly #table: DeltaTable;
  readonly #account: string;
  readonly #column: string;
  /** What was found of a file stays: files never change. */
  readonly #known = new WeakMap<Add, CommittedFile>();
  #version = -2;
  #files: readonly CommittedFile[] = [];
  #byUnit: ReadonlyMap<string, readonly CommittedFile[]> | undefined;

  /** `column`: the instant by which rows are asked for. */
  constructor(table: DeltaTable, account: string, column: string) {
    this.#table = table;
    this.#account = account;
    this.#column = column;
  }

  /** All of them. */
  get all(): readonly CommittedFile[] {
    const { version, files } = this.#table.snapshot;
    if (version !== this.#version) {
      this.#files = [...files.values()]
        .filter(({ partitionValues }) => partitionValues['account'] === this.#account)
        .map((add) => this.#read(add));
      this.#byUnit = undefined;
      this.#version = version;
    }
    return this.#files;
  }

  /** Those with rows of a unit: a settlement, or an order that was asked for. */
  of(unit: string): readonly CommittedFile[] {
    const { all } = this;
    this.#byUnit ??= byUnit(all);
    return this.#byUnit.get(unit) ?? [];
  }

  #read(add: Add): CommittedFile {
    const known = this.#known.get(add);
    if (known !== undefined) return known;
    const rows = Number(add.tags?.['rows'] ?? 0);
    const file = { path: this.#table.pathOf(add), size: add.size, rows, units: loadKeysOf(add) };
    const read = { ...file, ...boundsOf(add, this.#column) };
    this.#known.set(add, read);
    return read;
  }
}

function byUnit(files: readonly CommittedFile[]): Map<string, CommittedFile[]> {
  const units = new Map<string, CommittedFile[]>();
  for (const file of files) {
    for (const unit of file.units) {
      const own = units.get(unit);
      if (own === undefined) units.set(unit, [file]);
      else own.push(file);
    }
  }
  return units;
}

interface Statistics {
  readonly minValues?: Readonly<Record<string, string>>;
  readonly maxValues?: Readonly<Record<string, string>>;
  readonly nullCount?: Readonly<Record<string, number>>;
}

function boundsOf({ stats }: Add, column: string): Pick<CommittedFile, 'least' | 'greatest'> {
  // The log is checked when it is read, and its statistics are the program's own.
  const { minValues, maxValues, nullCount } = JSON.parse(stats ?? '{}') as Statistics;
  const least = Date.parse(minValues?.[column] ?? '');
  const greatest = Date.parse(maxValues?.[column] ?? '');
  // A row without the instant stands somewhere else, so the others tell nothing of it.
  const isKnown = nullCount?.[column] === 0 && Number.isFinite(least) && Number.isFinite(greatest);
  return isKnown
    ? { least: BigInt(least) * 1000n, greatest: BigInt(greatest) * 1000n }
    : { least: earliest, greatest: latest };
}

/** The files that hold the first rows of a range, and the instant before which nothing of it stands in other ones. */
export interface Nearest {
  readonly files: readonly CommittedFile[];
  readonly until: bigint;
}

/**
 * The files to read for the first `rows` rows from `from` on and before `to`: as few as that takes, by what the log tells of
 * them, so that a page of a large lake opens two or three files and not all of them.
 */
export function nearestFiles(files: readonly CommittedFile[], from: bigint, to: bigint, rows: number): Nearest {
  const touching = files
    .filter(({ least, greatest }) => greatest >= from && least < to)
    .toSorted((a, b) => compare(a.greatest, b.greatest));
  let until = to;
  let found = 0;
  for (const file of touching) {
    // Of the others nobody knows how many of their rows lie in the range.
    if (file.least <= from || file.greatest >= to) continue;
    found += file.rows;
    if (found < rows) continue;
    until = file.greatest + 1n;
    break;
  }
  return {
    files: touching.filter(({ least }) => least < until).toSorted((a, b) => compare(a.least, b.least)),
    until,
  };
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
