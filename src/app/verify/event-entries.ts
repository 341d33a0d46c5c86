import type { Database } from '../../core/duckdb/connection.js';
import { compareBytes } from '../../lake/store/store.js';
import type { Cell } from '../../core/text/rows.js';
import { Faults, type Certificate } from './certificate.js';
import type { CheckName } from './checks.js';
import { entriesFault, idFault, rolesFault, type EntryRow, type EventRow } from './event-fault.js';
import { parquet, type ReadableFile } from './file-contents.js';
import type { LogFile } from './log-files.js';

/** DuckDBs that run at the same time, one for each of two streams. */
export interface Databases {
  readonly events: Database;
  readonly entries: Database;
}

/**
 * Reads events and their entries side by side, both in the order of `event_id`, and checks each event: hash and id from
 * `raw`, and each money object of `raw` against its entry. DuckDB sorts and spills; memory holds some thousand rows.
 */
export async function checkEvents(
  mains: readonly ReadableFile[],
  derived: readonly ReadableFile[],
  databases: Databases,
  certificate: Certificate,
  signal: AbortSignal,
): Promise<void> {
  const faults = new FaultsByFile(certificate);
  const entries = entriesByEvent(derived, databases.entries, signal)[Symbol.asyncIterator]();
  let group = (await entries.next()).value;
  let last: string | undefined;
  let times = 0;
  for await (const { event, file } of eventRows(mains, databases.events, signal)) {
    while (group !== undefined && compareBytes(group.eventId, event.eventId) < 0) {
      faults.add(...leftOver(group, last, times));
      group = (await entries.next()).value;
    }
    times = last === event.eventId ? times + 1 : 1;
    const own = group?.eventId === event.eventId ? group.rows : [];
    certificate.count('event-ids');
    certificate.count('amounts', own.length);
    certificate.count('roles', own.length);
    faults.add('event-ids', file, idFault(event));
    last = event.eventId;
    const label = (fault: string | undefined) => (fault === undefined ? undefined : `${event.eventId} ${fault}`);
    faults.add('amounts', file, label(entriesFault(event.raw, own)));
    faults.add('roles', file, label(rolesFault(event.list, own)));
  }
  for (; group !== undefined; group = (await entries.next()).value) {
    faults.add(...leftOver(group, last, times));
  }
  faults.flush();
}

interface EventEntries {
  readonly eventId: string;
  readonly file: LogFile;
  /** Each entry once. */
  readonly rows: readonly EntryRow[];
  /** How often the one comes that comes most often. */
  readonly copies: number;
}

/** What is wrong with entries that are done with: they belong to no event, or come more often than theirs. */
function leftOver(
  { eventId, file, copies }: EventEntries,
  last: string | undefined,
  times: number,
): [CheckName, LogFile, string | undefined] {
  if (eventId !== last) return ['amounts', file, `entries of ${eventId}, which is no event of the slice`];
  // An event that upstream gave twice has its entries twice, and is told of as such.
  return ['unique-ids', file, copies > times ? `entries of ${eventId} come ${copies} times` : undefined];
}

/** Entries event by event, those of one event in their order. */
async function* entriesByEvent(
  derived: readonly ReadableFile[],
  database: Database,
  signal: AbortSignal,
): AsyncGenerator<EventEntries, undefined> {
  if (derived.length === 0) return undefined;
  const sql =
    'SELECT event_id, entry, path, role, kind, amount::VARCHAR, amount_text, currency, source ' +
    `FROM ${withSource(derived)} ORDER BY event_id, entry`;
  let eventId: string | undefined;
  let rows: EntryRow[] = [];
  let source = 0;
  let copies = 1;
  let copy = 1;
  const group = (id: string): EventEntries => ({ eventId: id, file: fileOf(derived, source), rows, copies });
  for await (const chunk of (await database.query(sql, { signal })).chunks) {
    for (const [id, entry, path, role, kind, amount, amountText, currency, from] of chunk) {
      if (eventId !== undefined && eventId !== text(id)) {
        yield group(eventId);
        rows = [];
        copies = 1;
      }
      eventId = text(id);
      source = Number(from);
      copy = rows.at(-1)?.entry === Number(entry) ? copy + 1 : 1;
      copies = Math.max(copies, copy);
      if (copy > 1) continue;
      rows.push({
        entry: Number(entry),
        path: text(path),
        role: text(role),
        kind: text(kind),
        amount: textOrNull(amount),
        amountText: textOrNull(amountText),
        currency: textOrNull(currency),
      });
    }
  }
  if (eventId !== undefined) yield group(eventId);
  return undefined;
}

async function* eventRows(
  mains: readonly ReadableFile[],
  database: Database,
  signal: AbortSignal,
): AsyncGenerator<{ event: EventRow; file: LogFile }> {
  const sql =
    'SELECT event_id, content_hash, event_list, posted_at IS NOT NULL, epoch_ms(window_start), group_id, ' +
    `requested_order_id, raw, source FROM ${withSource(mains)} ORDER BY event_id`;
  for await (const chunk of (await database.query(sql, { signal })).chunks) {
    for (const [eventId, contentHash, list, isDated, windowStart, groupId, requestedOrderId, raw, source] of chunk) {
      const event = {
        eventId: text(eventId),
        contentHash: text(contentHash),
        list: text(list),
        isDated: isDated === true,
        windowStart: windowStart === null || windowStart === undefined ? null : Number(windowStart),
        groupId: textOrNull(groupId),
        requestedOrderId: textOrNull(requestedOrderId),
        raw: text(raw),
      };
      yield { event, file: fileOf(mains, Number(source)) };
    }
  }
}

/** Several files as one, each row with the number of its file. */
function withSource(files: readonly ReadableFile[]): string {
  const selects = files.map(({ path }, index) => `SELECT *, ${index} AS source FROM ${parquet(path)}`);
  return `(${selects.join(' UNION ALL BY NAME ')})`;
}

function fileOf(files: readonly ReadableFile[], index: number): LogFile {
  const file = files[index]?.file;
  if (file === undefined) throw new Error(`no file ${index}`);
  return file;
}

function text(cell: Cell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

function textOrNull(cell: Cell | undefined): string | null {
  return cell === null || cell === undefined ? null : String(cell);
}

/** Faults of rows, put together by check and file. */
class FaultsByFile {
  readonly #certificate: Certificate;
  readonly #faults = new Map<string, { check: CheckName; file: LogFile; faults: Faults }>();

  constructor(certificate: Certificate) {
    this.#certificate = certificate;
  }

  add(check: CheckName, file: LogFile, fault: string | undefined): void {
    if (fault === undefined) return;
    const key = `${check} ${file.file}`;
    const known = this.#faults.get(key) ?? { check, file, faults: new Faults() };
    known.faults.add(fault);
    this.#faults.set(key, known);
  }

  flush(): void {
    for (const { check, file, faults } of this.#faults.values()) {
      const problem = faults.text('event');
      if (problem !== undefined) this.#certificate.add(check, 'lake', file, problem);
    }
  }
}
