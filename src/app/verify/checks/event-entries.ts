import { compare } from '../../../core/compare.js';
import { createHash } from 'node:crypto';
import { isoInstant } from '../../../core/numeric/instant.js';
import { textOrNull, type ResultCell } from '../../../core/text/rows.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { importedKey } from '../../../lake/loads/imported-spans.js';
import { compareBytes } from '../../../lake/store/store.js';
import { RowFaults, type CheckContext, type CheckName } from './certificate.js';
import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import { fileOf, pathsOf, type ReadableFile } from './file-contents.js';
import type { LogFile } from './log-files.js';
import { rulesOf, type EventRules } from './event-rules.js';
import { rawColumnsFault, rawColumnsSql } from './raw-columns.js';
import { fitsDecimal, normalised, walkedOf, type EntryRow, type Walked, type WalkedAmount } from './money-walk.js';

/** What events and entries are ordered by. */
interface EventKey {
  /** The number of the bundle. */
  readonly bundle: number;
  readonly eventId: string;
}

function compareKeys(a: EventKey, b: EventKey): number {
  return a.bundle - b.bundle || compareBytes(a.eventId, b.eventId);
}

interface EventRow extends EventKey {
  readonly contentHash: string;
  readonly list: string;
  readonly isDated: boolean;
  /** Milliseconds since 1970. */
  readonly windowStart: number | null;
  /** The same, of a row in the span of an import; null of other rows. */
  readonly spanEnd: number | null;
  readonly groupId: string | null;
  readonly requestedOrderId: string | null;
  readonly raw: string;
  /** The values of the columns that follow from `raw`. */
  readonly columns: readonly ResultCell[];
}

/** The files of a bundle that DuckDB can read: an event's entries are in the derived files of its own bundle. */
export interface ReadableBundle {
  readonly main: ReadableFile;
  readonly derived: readonly ReadableFile[];
}

/**
 * Reads the events of bundles of one table and their entries side by side, both by bundle and `event_id`, and checks each event:
 * hash and id from `raw`, and each money object of `raw` against its entry. DuckDB sorts and spills; memory holds some thousand rows.
 */
export async function checkEvents(bundles: readonly ReadableBundle[], context: CheckContext): Promise<void> {
  const { certificate } = context;
  const [first] = bundles;
  if (first === undefined) return;
  const rules = rulesOf(first.main.file.delta.schema);
  const faults = new RowFaults('event');
  const entries = entriesByEvent(bundles, rules, context)[Symbol.asyncIterator]();
  let group = (await entries.next()).value;
  let last: EventKey | undefined;
  let times = 0;
  for await (const { event, file } of eventRows(bundles, rules, context)) {
    while (group !== undefined && compareKeys(group, event) < 0) {
      faults.add(...unmatchedFault(group, last, times));
      group = (await entries.next()).value;
    }
    times = last !== undefined && compareKeys(last, event) === 0 ? times + 1 : 1;
    const rows = group !== undefined && compareKeys(group, event) === 0 ? group.rows : [];
    certificate.count('event-ids');
    certificate.count('amounts', rows.length);
    certificate.count('roles', rows.length);
    faults.add('event-ids', file, idFault(event));
    last = event;
    const label = (fault: string | undefined) => (fault === undefined ? undefined : `${event.eventId} ${fault}`);
    const walked = walkedOf(event.raw, rules.money);
    faults.add('amounts', file, label(typeof walked === 'string' ? walked : entriesFault(walked, rows)));
    if (typeof walked === 'string') continue;
    faults.add('roles', file, label(rules.rolesFault(event.list, walked, rows)));
    certificate.count('raw-columns');
    faults.add('raw-columns', file, label(rawColumnsFault(rules.columns, walked, event.columns, event.list)));
  }
  for (; group !== undefined; group = (await entries.next()).value) {
    faults.add(...unmatchedFault(group, last, times));
  }
  faults.addTo(certificate);
}

interface EventEntries extends EventKey {
  readonly file: LogFile;
  /** Each entry once. */
  readonly rows: readonly EntryRow[];
  /** How often the most frequent of them occurs. */
  readonly copies: number;
}

/**
 * Returns what is wrong with entries that match no further event: they belong to no event, or occur more often than
 * theirs.
 */
function unmatchedFault(
  { bundle, eventId, file, copies }: EventEntries,
  last: EventKey | undefined,
  times: number,
): [CheckName, LogFile, string | undefined] {
  if (last === undefined || compareKeys({ bundle, eventId }, last) !== 0)
    return ['amounts', file, `entries of ${eventId}, which is not an event of the slice`];
  // An event that the service returned twice has its entries twice. The check `unique-ids` reports it.
  return ['unique-ids', file, copies > times ? `entries of ${eventId} occur ${copies} times` : undefined];
}

/** Entries event by event, those of one event in their order. */
async function* entriesByEvent(
  bundles: readonly ReadableBundle[],
  { breakdown: breakdownColumn }: EventRules,
  { entries, certificate }: CheckContext,
): AsyncGenerator<EventEntries, undefined> {
  const files = bundles.flatMap(({ derived }, bundle) => derived.map((readable) => ({ ...readable, bundle })));
  if (files.length === 0) return undefined;
  const bundleOf = files.map(({ bundle }, source) => `(${source}, ${bundle})`).join(', ');
  const sql =
    `SELECT event_id, entry, path, role, kind, ${breakdownColumn}, amount::VARCHAR, amount_text, currency, ${sourceColumn}, bundle ` +
    `FROM ${rowsWithSource(pathsOf(files))} ` +
    `JOIN (VALUES ${bundleOf}) AS bundles(${sourceColumn}, bundle) USING (${sourceColumn}) ORDER BY bundle, event_id, entry`;
  let key: EventKey | undefined;
  let rows: EntryRow[] = [];
  let source = 0;
  let copies = 1;
  let copy = 1;
  const group = (of: EventKey): EventEntries => ({ ...of, file: fileOf(files, source), rows, copies });
  for await (const chunk of (await entries.query(sql)).chunks) {
    for (const [id, entry, path, role, kind, breakdown, amount, amountText, currency, from, bundle] of chunk) {
      const next = { bundle: Number(bundle), eventId: text(id) };
      if (key !== undefined && compareKeys(key, next) !== 0) {
        yield group(key);
        rows = [];
        copies = 1;
      }
      key = next;
      source = Number(from);
      copy = rows.at(-1)?.entry === Number(entry) ? copy + 1 : 1;
      copies = Math.max(copies, copy);
      if (copy > 1) continue;
      if (textOrNull(amountText) !== null) certificate.countUnsummed(fileOf(files, source).table, text(currency));
      rows.push({
        entry: Number(entry),
        path: text(path),
        role: text(role),
        kind: text(kind),
        breakdown: textOrNull(breakdown),
        amount: textOrNull(amount),
        amountText: textOrNull(amountText),
        currency: textOrNull(currency),
      });
    }
  }
  if (key !== undefined) yield group(key);
  return undefined;
}

async function* eventRows(
  bundles: readonly ReadableBundle[],
  { list: listColumn, group, columns: rawColumns }: EventRules,
  { events }: CheckContext,
): AsyncGenerator<{ event: EventRow; file: LogFile }> {
  const files = bundles.map(({ main }) => main);
  const sql =
    `SELECT event_id, content_hash, ${listColumn}, posted_at IS NOT NULL, epoch_ms(window_start), epoch_ms(window_end), ${group}, ` +
    `requested_order_id, raw, ${sourceColumn}, ${rawColumnsSql(rawColumns)} ` +
    `FROM ${rowsWithSource(pathsOf(files))} ORDER BY ${sourceColumn}, event_id`;
  for await (const chunk of (await events.query(sql)).chunks) {
    for (const row of chunk) {
      const [eventId, contentHash, list, isDated, start, end, groupId, requestedOrderId, raw, bundle, ...columns] = row;
      const [windowStart, windowEnd] = [instantOrNull(start), instantOrNull(end)];
      const file = fileOf(files, bundle);
      const event = {
        bundle: Number(bundle),
        eventId: text(eventId),
        contentHash: text(contentHash),
        list: text(list),
        isDated: isDated === true,
        windowStart,
        spanEnd: isDated !== true && isImported(file, windowStart, windowEnd) ? windowEnd : null,
        groupId: textOrNull(groupId),
        requestedOrderId: textOrNull(requestedOrderId),
        raw: text(raw),
        columns,
      };
      yield { event, file };
    }
  }
}

function instantOrNull(cell: ResultCell | undefined): number | null {
  return cell === null || cell === undefined ? null : Number(cell);
}

/** Whether a file has the rows of a window as imported ones. */
function isImported({ loadKeys }: LogFile, start: number | null, end: number | null): boolean {
  if (start === null || end === null) return false;
  const window = { start, end };
  return loadKeys.includes(importedKey(window)) && !loadKeys.includes(windowKey(window));
}

function text(cell: ResultCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}

/** Returns what is wrong with an event's hash or id, or undefined. */
function idFault(event: EventRow): string | undefined {
  const hash = createHash('sha256').update(event.list).update('\0').update(event.raw);
  const content = hash.copy().digest('hex').slice(0, 32);
  if (content !== event.contentHash) return `content_hash is ${event.contentHash}, raw hashes to ${content}`;
  const owner = event.requestedOrderId ?? event.groupId;
  const isPlain = event.isDated || event.windowStart === null;
  if (!isPlain) hash.update(`\0${isoInstant(event.windowStart)}`);
  if (!isPlain && event.spanEnd !== null) hash.update(`\0${isoInstant(event.spanEnd)}`);
  const identity = isPlain ? content : hash.digest('hex').slice(0, 32);
  const id = owner === null ? identity : `${owner}:${identity}`;
  const rest = event.eventId.startsWith(id) ? event.eventId.slice(id.length) : 'other';
  // The `event_id` of a second, third … identical event ends with its number.
  if (rest === '' || Number(/^-([1-9]\d*)$/.exec(rest)?.[1]) >= 2) return undefined;
  return `event_id is ${event.eventId}, raw hashes to ${id}`;
}

/**
 * Returns what is wrong with the entries of an event, or undefined: each money object of `raw` must be one entry, to
 * the digit.
 */
function entriesFault({ amounts, isOrdered, numbers }: Walked, entries: readonly EntryRow[]): string | undefined {
  if (amounts.length !== entries.length) return `raw has ${amounts.length} amounts, entries ${entries.length}`;
  const odd = entries.findIndex(({ entry }, index) => entry !== index);
  if (odd >= 0) return `expected entry ${odd}, found ${entries[odd]?.entry ?? 'none'}`;
  const inText = isOrdered ? amounts : amounts.toSorted((a, b) => compare(amountKey(a), amountKey(b)));
  const inTable = isOrdered ? entries : entries.toSorted((a, b) => compare(rowKey(a), rowKey(b)));
  for (const [index, amount] of inText.entries()) {
    const fault = amountFault(amount, inTable[index]);
    if (fault !== undefined) return `${amount.path}: ${fault}`;
  }
  const stored = entries.flatMap(({ amount, amountText }) => amount ?? amountText ?? []).map(normalised);
  if (numbers !== undefined && numbers.join() !== stored.toSorted().join()) return 'amounts differ in digits from raw';
  return undefined;
}

function amountFault(amount: WalkedAmount, row: EntryRow | undefined): string | undefined {
  if (row === undefined) return 'no entry';
  if (row.path !== amount.path) return `the entry has ${row.path}`;
  if (row.currency !== amount.currency) return `currency ${String(amount.currency)}, entry ${String(row.currency)}`;
  if (amount.amount === null) {
    return row.amount === null && row.amountText === null ? undefined : `no number, entry ${String(row.amount)}`;
  }
  if (row.amount !== null && row.amountText !== null) return `${row.amount} and amount_text ${row.amountText}`;
  const text = row.amount ?? row.amountText;
  if (text === null) return `${amount.amount}, entry without an amount`;
  if (Number(text) !== amount.amount) return `${amount.amount}, entry ${text}`;
  if (row.amountText !== null && fitsDecimal(row.amountText))
    return `amount_text ${row.amountText}, which amount holds`;
  return undefined;
}

function amountKey({ path, amount, currency }: WalkedAmount): string {
  return JSON.stringify([path, amount === null ? null : String(amount + 0), currency]);
}

function rowKey({ path, amount, amountText, currency }: EntryRow): string {
  const text = amount ?? amountText;
  return amountKey({ path, amount: text === null ? null : Number(text), currency });
}
