import { appendToFile } from '../../core/io/write-file.js';
import { literal } from '../../core/duckdb/literals.js';
import { events } from '../../sources/finances/model/tables.js';
import type { CheckedFiles } from '../../lake/files/month-files.js';
import type { Add } from '../../lake/delta/actions.js';
import { importSpansOf, loadKeysOf, statisticsOf, type ImportSpan } from '../../lake/delta/file-tags.js';
import { filesOf } from '../../lake/loads/load-keys.js';
import type { Family } from '../../core/columns/table.js';
import { rowsIn } from '../../lake/files/local-parquet.js';
import type { Workspace } from '../../lake/files/workspace.js';
import { dayOf, parseImportedKey } from '../../lake/loads/imported-days.js';
import { readWindow } from '../../engine/slicing/window-slices.js';
import { dayMs, dayStart } from '../../core/windows.js';
import type { ImportTarget } from './imported-day-files.js';

/**
 * Finds which of an input's events without a date are new to the lake. Only its page shows the day of such an event, so equal
 * events are compared over all days between the first and the last date of their inputs:
 *
 * - Where the days of one input (or loaded window) cover those of the other, all equal events are the same.
 * - Where they overlap in part, as many are the same as each side has on days of the other; they are counted as undecided.
 *
 * The lake gets as many new events as it lacks to have as many as the input.
 */
export class UndatedDedup {
  /** Events of the input of which it is unknown whether the lake had them. */
  undecided = 0;
  readonly #target: ImportTarget;
  readonly #family: Family;
  readonly #workspace: Workspace;
  readonly #files: CheckedFiles;
  readonly #undated: UndatedEvents;
  /** Paths of the compared files and of the committed ones; undefined before the first comparison. */
  #compared: Set<string> | undefined;
  /** How many events are not added, by the number of their staged month. */
  #omitted: ReadonlyMap<number, number> = new Map();

  constructor(target: ImportTarget, family: Family, workspace: Workspace, files: CheckedFiles, undated: UndatedEvents) {
    this.#target = target;
    this.#family = family;
    this.#workspace = workspace;
    this.#files = files;
    this.#undated = undated;
  }

  get span(): ImportSpan {
    return this.#undated.span;
  }

  /** Whether the lake has only files that were compared or committed by this import. */
  isCurrent(): boolean {
    const paths = this.#candidates().map(({ path }) => path);
    return this.#compared?.size === paths.length && paths.every((path) => this.#compared?.has(path) === true);
  }

  /** Notes that a file with new events of the input was committed. */
  noteCommitted(add: Add): void {
    if (undatedFileOf(add).mayHaveUndated) this.#compared?.add(add.path);
  }

  /** How many events of a staged month are not added. */
  omittedOf(month: number): number {
    return this.#omitted.get(month) ?? 0;
  }

  /**
   * Compares the input with the present lake. Where some events are not added, the table `undated_` of the database has the
   * `event_id` of those that are.
   *
   * @throws LedgerlakeError LAKE_STORE where a file is missing or differs from its commit
   */
  async compare(): Promise<void> {
    const isFirst = this.#compared === undefined;
    const adds = this.#candidates();
    this.#compared = new Set(adds.map(({ path }) => path));
    this.#omitted = new Map();
    if (adds.length === 0) return;
    await this.#readLake(adds);
    await this.#readInput();
    await this.#relateRows();
    await this.#countNew();
    await this.#chooseNew();
    if (isFirst) this.undecided = await this.#undecidedCount();
    const omitted = await this.#workspace.database.rows(
      'SELECT staged, count(*) AS omitted FROM input_ ANTI JOIN undated_ USING (event_id) WHERE staged >= 0 GROUP BY ALL',
    );
    this.#omitted = new Map(omitted.map(({ staged, omitted: count }) => [Number(staged), Number(count)]));
  }

  /** Creates the table `input_` of the input's events without a date. */
  async #readInput(): Promise<void> {
    await this.#workspace.database.execute(
      'CREATE OR REPLACE TEMP TABLE input_ AS SELECT * FROM ' +
        `read_csv(${literal(this.#undated.path)}, header = false, auto_detect = false, delim = ',', columns = ` +
        "{staged: 'BIGINT', content_hash: 'VARCHAR', event_id: 'VARCHAR', day: 'BIGINT', times: 'BIGINT'})",
    );
  }

  /** Creates the table `related_` of stored events that may equal the input's, with whether one's days cover the other's. */
  async #relateRows(): Promise<void> {
    const { first, last } = this.span;
    const [firstDay, lastDay] = [dayStart(first), dayStart(last)];
    const isStrict = `(first < ${last} AND last > ${first})`;
    const isWithin = `(first >= ${first} AND last <= ${last}) OR (first <= ${first} AND last >= ${last})`;
    const hasDays = `(first_day >= ${firstDay} AND last_day <= ${lastDay}) OR (first_day <= ${firstDay} AND last_day >= ${lastDay})`;
    await this.#workspace.database.execute(
      `CREATE OR REPLACE TEMP TABLE related_ AS SELECT *, (${isWithin}) OR (${isStrict} AND (${hasDays})) AS is_covered ` +
        `FROM rows_ WHERE first_day <= ${lastDay} AND last_day >= ${firstDay} ` +
        'AND content_hash IN (SELECT content_hash FROM input_)',
    );
  }

  /** Creates the table `counts_`: how many events of each content are new, and how many of the input are undecided. */
  async #countNew(): Promise<void> {
    const { first, last } = this.span;
    const [firstDay, lastDay] = [dayStart(first), dayStart(last)];
    await this.#workspace.database.execute(
      'CREATE OR REPLACE TEMP TABLE counts_ AS WITH ' +
        'incoming AS (SELECT content_hash, count(*) AS incoming FROM input_ GROUP BY ALL), ' +
        'same AS (SELECT content_hash, sum(number) AS same FROM related_ WHERE is_covered GROUP BY ALL), ' +
        'partial AS (SELECT content_hash, first_day, last_day, sum(number) AS number, ' +
        `coalesce(sum(number) FILTER (day BETWEEN ${firstDay} AND ${lastDay}), 0) AS in_days ` +
        'FROM related_ WHERE NOT is_covered GROUP BY ALL), ' +
        'pairs AS (SELECT content_hash, event_id, first_day, last_day, in_days FROM partial JOIN input_ USING (content_hash) ' +
        'WHERE day BETWEEN first_day AND last_day), ' +
        'spans AS (SELECT content_hash, least(in_days, count(*)) AS pairs FROM pairs GROUP BY content_hash, first_day, last_day, in_days), ' +
        'most AS (SELECT content_hash, count(DISTINCT event_id) AS most FROM pairs GROUP BY ALL), ' +
        'likely AS (SELECT content_hash, least(most, sum(pairs)) AS likely FROM spans JOIN most USING (content_hash) GROUP BY content_hash, most), ' +
        'possible AS (SELECT content_hash, sum(number) AS possible FROM partial GROUP BY ALL) ' +
        'SELECT content_hash, greatest(incoming - coalesce(same, 0) - coalesce(likely, 0), 0) AS new, ' +
        'least(greatest(incoming - coalesce(same, 0), 0), coalesce(possible, 0)) AS undecided FROM incoming ' +
        'LEFT JOIN same USING (content_hash) LEFT JOIN likely USING (content_hash) LEFT JOIN possible USING (content_hash)',
    );
  }

  /**
   * Creates the table `undated_` of the events that are added. An id is in use where the lake has as many equal events of the
   * day; of each content there are at least as many unused ids as new events.
   */
  async #chooseNew(): Promise<void> {
    await this.#workspace.database.execute(
      'CREATE OR REPLACE TEMP TABLE undated_ AS SELECT event_id, staged FROM input_ JOIN counts_ USING (content_hash) ' +
        'LEFT JOIN (SELECT content_hash, day, sum(number) AS taken FROM rows_ GROUP BY ALL) USING (content_hash, day) ' +
        'WHERE staged >= 0 AND times > coalesce(taken, 0) ' +
        'QUALIFY row_number() OVER (PARTITION BY content_hash ORDER BY day, times) <= new',
    );
  }

  async #undecidedCount(): Promise<number> {
    const { database } = this.#workspace;
    const [row] = await database.rows('SELECT coalesce(sum(undecided), 0)::BIGINT AS undecided FROM counts_');
    return Number(row?.['undecided']);
  }

  /** Files with events without a date that may equal the input's. */
  #candidates(): Add[] {
    const { lake, account } = this.#target;
    const { pipeline, main } = this.#family;
    const { first, last } = this.span;
    const days = { first: dayStart(first), last: dayStart(last) + dayMs - 1 };
    return filesOf(lake.table(main.name).snapshot, pipeline, account).filter(
      (add) =>
        undatedFileOf(add).mayHaveUndated &&
        undatedFileOf(add).spans.some((span) => span.first <= days.last && span.last >= days.first),
    );
  }

  /** Creates the table `rows_` of the stored events without a date, each with the days that it may be of. */
  async #readLake(adds: readonly Add[]): Promise<void> {
    const paths: string[] = [];
    const spans: string[] = [];
    const imported: string[] = [];
    for (const add of adds) {
      const [path = ''] = (await this.#files.of(this.#target.lake, events, [add])).flatMap((month) => month.paths);
      paths.push(path);
      for (const { first, last } of importSpansOf(add)) {
        spans.push(`(${literal(path)}, ${first}, ${last}, ${dayStart(first)}, ${dayStart(last)})`);
      }
      for (const loadKey of loadKeysOf(add)) {
        const window = parseImportedKey(loadKey);
        if (window !== undefined) imported.push(`(${literal(path)}, ${dayOf(window.start).start})`);
      }
    }
    const values = (rows: readonly string[], none: string) => `(VALUES ${rows.length === 0 ? none : rows.join(', ')})`;
    const { database } = this.#workspace;
    await database.execute(
      `CREATE OR REPLACE TEMP TABLE spans_ AS SELECT * FROM ${values(spans, "('', 0, 0, 0, 0)")} AS t(path, first, last, first_day, last_day)`,
    );
    await database.execute(
      `CREATE OR REPLACE TEMP TABLE imported_ AS SELECT DISTINCT * FROM ${values(imported, "('', 0)")} AS t(path, day)`,
    );
    await database.execute(
      // An imported row without a span, which earlier versions wrote, is of its day alone.
      'CREATE OR REPLACE TEMP TABLE rows_ AS WITH found AS (SELECT filename AS path, content_hash, epoch_ms(window_start) AS start, ' +
        `epoch_ms(window_end) - 1 AS end_, count(*) AS number FROM ${rowsIn(paths, ', filename = true')} ` +
        'WHERE posted_at IS NULL GROUP BY ALL), ' +
        `dayed AS (SELECT *, start // ${dayMs} * ${dayMs} AS day FROM found), ` +
        'spanned AS (SELECT dayed.*, s.first, s.last FROM dayed LEFT JOIN imported_ ON imported_.path = dayed.path AND imported_.day = start ' +
        `AND end_ = start + ${dayMs - 1} ` +
        'LEFT JOIN spans_ AS s ON imported_.path = s.path AND dayed.day BETWEEN s.first_day AND s.last_day ' +
        'QUALIFY row_number() OVER (PARTITION BY dayed.path, content_hash, start, end_ ORDER BY s.last - s.first DESC NULLS LAST) = 1), ' +
        'known AS (SELECT content_hash, day, number, coalesce(first, start) AS first, coalesce(last, end_) AS last FROM spanned) ' +
        `SELECT content_hash, day, number, first, last, first // ${dayMs} * ${dayMs} AS first_day, last // ${dayMs} * ${dayMs} AS last_day FROM known`,
    );
  }
}

interface UndatedFile {
  /** Whether it may have an event without a date. */
  readonly mayHaveUndated: boolean;
  /** The spans that such an event may be of. */
  readonly spans: readonly ImportSpan[];
}

/** A cache by the file's entry in the log, because each commit checks all of them. */
const undatedFiles = new WeakMap<Add, UndatedFile>();

function undatedFileOf(add: Add): UndatedFile {
  let known = undatedFiles.get(add);
  if (known === undefined) {
    const { nullCount } = statisticsOf(add.stats);
    const windows = loadKeysOf(add).flatMap((loadKey) => readWindow(loadKey) ?? parseImportedKey(loadKey) ?? []);
    const spans = [...windows.map(({ start, end }) => ({ first: start, last: end - 1 })), ...importSpansOf(add)];
    undatedFiles.set(add, (known = { mayHaveUndated: nullCount['posted_at'] !== 0, spans }));
  }
  return known;
}

/** The month number of events whose day isn't open, which are in no staged month. */
export const unstaged = -1;

/**
 * The events without a date of one input, on the local disk: which of them are new is known once the input is read to its end,
 * because its span is complete only then.
 */
export class UndatedEvents {
  /** A CSV file without a header, with a line for each call of `add`; missing without a call. */
  readonly path: string;
  #months = 0;
  #lines: string[] = [];
  #first = Infinity;
  #last = -Infinity;

  /** @param path of a file that does not exist yet */
  constructor(path: string) {
    this.path = path;
  }

  /** From the first to the last date of the input so far. */
  get span(): ImportSpan {
    return { first: this.#first, last: this.#last };
  }

  /** Extends the span to a date. */
  extendSpan(date: number): void {
    if (date < this.#first) this.#first = date;
    if (date > this.#last) this.#last = date;
  }

  /** The number of the next staged month. */
  nextMonth(): number {
    return this.#months++;
  }

  /**
   * Adds an event without a date.
   *
   * @param staged number of its staged month; `unstaged` where its day isn't open
   * @param eventId unique in the input
   * @param day start of its day
   * @param times its number among equal events of the day
   */
  add(staged: number, contentHash: string, eventId: string, day: number, times: number): void {
    this.#lines.push(`${staged},${contentHash},${eventId},${day},${times}\n`);
  }

  /** Writes the events that were added since the last call. */
  async flush(): Promise<void> {
    if (this.#lines.length > 0) await appendToFile(this.path, this.#lines.join(''), 0o600);
    this.#lines = [];
  }
}
