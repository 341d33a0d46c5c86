import { compare } from '../../../core/compare.js';
import { hash } from 'node:crypto';
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
import { rawColumnsFault, rawColumnsSql, textsJson } from './raw-columns.js';
import {
  fitsDecimal,
  mostPaths,
  normalised,
  Paths,
  walkedOf,
  type EntryRow,
  type Walked,
  type WalkedAmount,
} from './money-walk.js';

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
  /** The values of the columns that follow from `raw`, as `rawColumnsSql` has them. */
  readonly columns: string;
}

/** The files of a bundle that DuckDB can read: an event's entries are in the derived files of its own bundle. */
export interface ReadableBundle {
  readonly main: ReadableFile;
  readonly derived: readonly ReadableFile[];
}

/**
 * Reads the events of bundles of one table and their entries side by side, both by bundle and `event_id`, and checks each event:
 * hash and id from `raw`, and each money object of `raw` against its entry. DuckDB sorts and spills; memory holds some thousand rows.
 *
 * Where the text of all entries is the one that follows from `raw`, that is all; otherwise each check says what is wrong.
 */
export async function checkEvents(bundles: readonly ReadableBundle[], context: CheckContext): Promise<void> {
  const { certificate } = context;
  const [first] = bundles;
  if (first === undefined) return;
  const rules = rulesOf(first.main.file.delta.schema);
  const faults = new RowFaults('event');
  const paths = new Paths();
  const quoted = new Map<string, string>();
  const entries = entriesByEvent(bundles, rules, context)[Symbol.asyncIterator]();
  let group = (await entries.next()).value;
  let proved: EventEntries | undefined;
  let last: EventKey | undefined;
  let times = 0;
  for await (const { event, file } of eventRows(bundles, rules, context)) {
    while (group !== undefined && compareKeys(group, event) < 0) {
      if (group !== proved) faults.add(...unmatchedFault(group, last, times));
      group = (await entries.next()).value;
    }
    times = last !== undefined && compareKeys(last, event) === 0 ? times + 1 : 1;
    const stored = group !== undefined && compareKeys(group, event) === 0 ? group : undefined;
    certificate.count('event-ids');
    faults.add('event-ids', file, idFault(event));
    last = event;
    const label = (fault: string | undefined) => (fault === undefined ? undefined : `${event.eventId} ${fault}`);
    const walked = walkedOf(event.raw, rules.money, paths);
    const isSame =
      typeof walked !== 'string' && expectedText(walked, event.list, rules, quoted) === (stored?.text ?? '');
    if (isSame) proved = stored;
    const rows = isSame ? [] : rowsOf(stored).rows;
    const amounts = isSame ? walked.amounts.length : rows.length;
    certificate.count('amounts', amounts);
    certificate.count('roles', amounts);
    if (!isSame) faults.add('amounts', file, label(typeof walked === 'string' ? walked : entriesFault(walked, rows)));
    if (typeof walked === 'string') continue;
    if (!isSame) faults.add('roles', file, label(rules.rolesFault(event.list, walked, rows)));
    certificate.count('raw-columns');
    faults.add('raw-columns', file, label(rawColumnsFault(rules.columns, walked, event.columns, event.list)));
  }
  for (; group !== undefined; group = (await entries.next()).value) {
    if (group !== proved) faults.add(...unmatchedFault(group, last, times));
  }
  faults.addTo(certificate);
}

/** The entries of an event. */
interface EventEntries extends EventKey {
  readonly file: LogFile;
  /** Each as a JSON array of texts (`entryColumns`), in the order of the file, with commas between. */
  readonly text: string;
}

/**
 * Returns what is wrong with entries that match no further event: they belong to no event, or occur more often than
 * theirs.
 */
function unmatchedFault(
  entries: EventEntries,
  last: EventKey | undefined,
  times: number,
): [CheckName, LogFile, string | undefined] {
  const { eventId, file } = entries;
  if (last === undefined || compareKeys(entries, last) !== 0)
    return ['amounts', file, `entries of ${eventId}, which is not an event of the slice`];
  // An event that the service returned twice has its entries twice. The check `unique-ids` reports it.
  const { copies } = rowsOf(entries);
  return ['unique-ids', file, copies > times ? `entries of ${eventId} occur ${copies} times` : undefined];
}

/** What an entry is compared by, in SQL. */
function entryColumns(breakdown: string): readonly string[] {
  return ['entry', 'path', 'role', 'kind', breakdown, 'amount', 'amount_text', 'currency'];
}

/**
 * What `EventEntries.text` is by `raw` alone; undefined where that can't be said.
 *
 * @param quoted JSON texts of paths, which are the same in most events
 */
function expectedText(
  walked: Walked,
  list: string,
  { roles }: EventRules,
  quoted: Map<string, string>,
): string | undefined {
  const { amounts, decimals } = walked;
  if (decimals === undefined) return undefined;
  const expected = roles(list, walked, decimals);
  let text = '';
  for (const [index, { path, currency }] of amounts.entries()) {
    let pathText = quoted.get(path);
    if (pathText === undefined) {
      pathText = JSON.stringify(path);
      if (quoted.size < mostPaths) quoted.set(path, pathText);
    }
    const { role = '', kind = '', breakdown = null } = expected[index] ?? {};
    const known = `${pathText},"${role}","${kind}",${breakdown === null ? 'null' : JSON.stringify(breakdown)}`;
    text += `${index === 0 ? '' : ','}["${index}",${known},"${decimals[index] ?? ''}",null,${JSON.stringify(currency)}]`;
  }
  return text;
}

/** Each entry once, in their order, and how often the most frequent of them occurs. */
function rowsOf(entries: EventEntries | undefined): { readonly rows: readonly EntryRow[]; readonly copies: number } {
  const parsed = JSON.parse(`[${entries?.text ?? ''}]`) as readonly (readonly (string | null)[])[];
  const rows: EntryRow[] = [];
  let copies = 1;
  let copy = 1;
  for (const cells of parsed.toSorted(([a = null], [b = null]) => orderOf(a) - orderOf(b))) {
    const [entry = null, path, role, kind, breakdown = null, amount = null, amountText = null, currency = null] = cells;
    copy = rows.at(-1)?.entry === Number(entry) ? copy + 1 : 1;
    copies = Math.max(copies, copy);
    if (copy > 1) continue;
    const texts = { path: path ?? '', role: role ?? '', kind: kind ?? '' };
    rows.push({ entry: Number(entry), ...texts, breakdown, amount, amountText, currency });
  }
  return { rows, copies };
}

/** Entries without a number come last. */
function orderOf(entry: string | null): number {
  return entry === null ? Number.MAX_SAFE_INTEGER : Number(entry);
}

/** Entries event by event. */
async function* entriesByEvent(
  bundles: readonly ReadableBundle[],
  { breakdown }: EventRules,
  { entries, certificate }: CheckContext,
): AsyncGenerator<EventEntries, undefined> {
  const files = bundles.flatMap(({ derived }, bundle) => derived.map((readable) => ({ ...readable, bundle })));
  if (files.length === 0) return undefined;
  const bundleOf = files.map(({ bundle }, source) => `(${source}, ${bundle})`).join(', ');
  const sql =
    `SELECT bundle, event_id, max(${sourceColumn}), count(amount_text), string_agg(${textsJson(entryColumns(breakdown))}, ',') ` +
    `FROM ${rowsWithSource(pathsOf(files))} ` +
    `JOIN (VALUES ${bundleOf}) AS bundles(${sourceColumn}, bundle) USING (${sourceColumn}) ` +
    'GROUP BY bundle, event_id ORDER BY bundle, event_id';
  for await (const chunk of (await entries.query(sql)).chunks) {
    for (const [bundle, id, source, unsummed, joined] of chunk) {
      const file = fileOf(files, source);
      const group = { bundle: Number(bundle), eventId: text(id), file, text: text(joined) };
      if (Number(unsummed) > 0) {
        for (const { amountText, currency } of rowsOf(group).rows)
          if (amountText !== null) certificate.countUnsummed(file.table, currency ?? '');
      }
      yield group;
    }
  }
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
      const [eventId, contentHash, list, isDated, start, end, groupId, requestedOrderId, raw, bundle, columns] = row;
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
        columns: text(columns),
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
  const hashed = `${event.list}\0${event.raw}`;
  const content = hash('sha256', hashed).slice(0, 32);
  if (content !== event.contentHash) return `content_hash is ${event.contentHash}, raw hashes to ${content}`;
  const owner = event.requestedOrderId ?? event.groupId;
  const isPlain = event.isDated || event.windowStart === null;
  const span = isPlain ? [] : [event.windowStart, event.spanEnd].filter((instant) => instant !== null);
  const place = span.map((instant) => `\0${isoInstant(instant)}`).join('');
  const identity = isPlain ? content : hash('sha256', hashed + place).slice(0, 32);
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
