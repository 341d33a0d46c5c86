import { compare } from '../../../core/compare.js';
import { hash } from 'node:crypto';
import { isoInstant } from '../../../core/numeric/instant.js';
import type { ResultCell } from '../../../core/text/rows.js';
import { windowKey } from '../../../engine/slicing/window-slices.js';
import { importedKey } from '../../../lake/loads/imported-spans.js';
import { RowFaults, type CertificateBuilder, type CheckContext } from './certificate.js';
import { rowsWithSource, sourceColumn } from '../../../lake/files/local-parquet.js';
import eventEntries from './event-entries.sql';
import { fileOf, pathsOf, statementOver, type ReadableFile } from './file-contents.js';
import type { LogFile } from './log-files.js';
import { rulesOf, type EventRules } from './event-rules.js';
import { rawColumnsFault, rawColumnsSql, textsJson } from './raw-columns.js';
import { Places, remembered, type Place } from './money-places.js';
import { fitsDecimal, normalised, walkedOf, type EntryRow, type Walked, type WalkedAmount } from './money-walk.js';

/** An event as it is stored, without `raw`. */
interface EventRow {
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
}

/** The files of a bundle that DuckDB can read: an event's entries are in the derived files of its own bundle. */
export interface ReadableBundle {
  readonly main: ReadableFile;
  readonly derived: readonly ReadableFile[];
}

/**
 * Reads the events of bundles of one table with their entries, and checks each event: hash and id from `raw`, and each money object of
 * `raw` against its entry. DuckDB joins, sorts and spills; memory holds some thousand rows.
 *
 * Where the text of all entries is the one that follows from `raw`, that is all; otherwise each check says what is wrong.
 */
export async function checkEvents(
  bundles: readonly ReadableBundle[],
  { certificate, database }: CheckContext,
): Promise<void> {
  const [first] = bundles;
  if (first === undefined) return;
  const rules = rulesOf(first.main.file.delta.schema);
  const mains = bundles.map(({ main }) => main);
  const derived = bundles.flatMap((bundle) => bundle.derived);
  const faults = new RowFaults('event');
  const places = new Places(rules.money.root);
  const expected = new ExpectedEntries(rules);
  let entries: EventEntries | undefined;
  const { chunks } = await database.query(eventsWithEntries(bundles, rules));
  for await (const rows of chunks) {
    for (const [bundle, id, eventText = null, json, entriesText = null, entriesFile, inexact] of rows) {
      if (entries !== undefined && entries.bundle === bundle && entries.eventId === id) entries.times++;
      else {
        if (entries !== undefined) faults.add('unique-ids', entries.file, repeatedFault(entries));
        entries = undefined;
        if (entriesText !== null) {
          const file = fileOf(derived, entriesFile);
          entries = { bundle, eventId: text(id), text: text(entriesText), file, times: 1, isProved: false };
          if (Number(inexact) > 0) countUnsummed(rowsOf(entries).rows, file.table, certificate);
        }
      }
      if (eventText === null) {
        const fault = `entries of ${text(id)}, which is not an event of the slice`;
        if (entries !== undefined) faults.add('amounts', entries.file, fault);
        entries = undefined;
        continue;
      }
      const [raw, file, event] = [text(json), fileOf(mains, bundle), eventOf(text(eventText))];
      const label = (fault: string | undefined) => (fault === undefined ? undefined : `${event.eventId} ${fault}`);
      certificate.count('event-ids');
      faults.add('event-ids', file, idFault(event, raw, file));
      const walked = walkedOf(raw, rules.money, (value) => places.root(rules.owner(event.list, value)));
      const isSame = typeof walked !== 'string' && expected.are(walked, entries?.text ?? '');
      if (isSame && entries !== undefined) entries.isProved = true;
      const stored = isSame ? [] : rowsOf(entries).rows;
      const amounts = isSame ? walked.amounts.length : stored.length;
      certificate.count('amounts', amounts);
      certificate.count('roles', amounts);
      if (!isSame)
        faults.add('amounts', file, label(typeof walked === 'string' ? walked : entriesFault(walked, stored)));
      if (typeof walked === 'string') continue;
      if (!isSame) faults.add('roles', file, label(rules.rolesFault(event.list, walked, stored)));
      certificate.count('raw-columns');
      faults.add('raw-columns', file, label(rawColumnsFault(rules.columns, walked, event.columns, event.list)));
    }
  }
  if (entries !== undefined) faults.add('unique-ids', entries.file, repeatedFault(entries));
  faults.addTo(certificate);
}

/** The statement whose rows `event-entries.sql` describes. */
function eventsWithEntries(
  bundles: readonly ReadableBundle[],
  { list, group, breakdown, columns }: EventRules,
): string {
  const ofEvent = [
    ...['event_id', 'content_hash', list, 'posted_at IS NOT NULL', 'epoch_ms(window_start)', 'epoch_ms(window_end)'],
    ...[group, 'requested_order_id', ...rawColumnsSql(columns)],
  ];
  const ofEntry = ['entry', 'path', 'role', 'kind', breakdown, 'amount', 'amount_text', 'currency'];
  const mains = bundles.map(({ main }) => main);
  const derived = bundles.flatMap((bundle, at) => bundle.derived.map((readable) => ({ ...readable, bundle: at })));
  const bundleOf = derived.map(({ bundle }) => bundle).join(', ');
  const id = "coalesce(event_id, '') AS event_id";
  const eventTexts = `SELECT ${sourceColumn} AS bundle, ${id}, ${textsJson(ofEvent)} AS text, raw`;
  const entryTexts = `SELECT [${bundleOf}][${sourceColumn} + 1] AS bundle, ${id}, ${textsJson(ofEntry)} AS text`;
  const relations = {
    event_texts: `${eventTexts} FROM ${rowsWithSource(pathsOf(mains))}`,
    entry_texts:
      derived.length === 0
        ? "SELECT 0 AS bundle, '' AS event_id, '' AS text, 0 AS file, '' AS amount_text WHERE false"
        : `${entryTexts}, ${sourceColumn} AS file, amount_text FROM ${rowsWithSource(pathsOf(derived))}`,
  };
  return statementOver(relations, eventEntries);
}

/** An event by its texts in the statement. */
function eventOf(texts: string): EventRow {
  const cells = JSON.parse(texts) as readonly (string | null)[];
  const [eventId, contentHash, list, isDated, start = null, end = null, groupId = null, orderId = null] = cells;
  return {
    ...{ eventId: eventId ?? '', contentHash: contentHash ?? '', list: list ?? '', isDated: isDated === 'true' },
    windowStart: start === null ? null : Number(start),
    windowEnd: end === null ? null : Number(end),
    ...{ groupId, requestedOrderId: orderId, columns: cells.slice(8) },
  };
}

/** The entries with the `event_id` of an event. */
interface EventEntries {
  readonly bundle: ResultCell | undefined;
  readonly eventId: string;
  /** Each as a JSON array of texts, in the order of the file, with commas between. */
  readonly text: string;
  readonly file: LogFile;
  /** How many events of the bundle have that id. */
  times: number;
  /** Whether they follow from `raw`. */
  isProved: boolean;
}

/** What is wrong with entries that occur more often than their event, or undefined. One that the service returned twice has them twice. */
function repeatedFault(entries: EventEntries): string | undefined {
  const copies = entries.isProved ? 1 : rowsOf(entries).copies;
  return copies > entries.times ? `entries of ${entries.eventId} occur ${copies} times` : undefined;
}

function countUnsummed(entries: readonly EntryRow[], table: string, certificate: CertificateBuilder): void {
  for (const { amountText, currency } of entries)
    if (amountText !== null) certificate.countUnsummed(table, currency ?? '');
}

/** What the entries of events are by `raw` alone. */
class ExpectedEntries {
  readonly #rules: EventRules;
  // Pieces of text that are the same in most events.
  readonly #heads = [new Map<Place, string>(), new Map<Place, string>()] as const;
  readonly #ends = new Map<string | null, string>();
  readonly #starts: string[] = [];

  constructor(rules: EventRules) {
    this.#rules = rules;
  }

  /**
   * Whether the entries of an event are those that follow from `raw`.
   *
   * @param text as `EventEntries` has it
   */
  are(walked: Walked, text: string): boolean {
    const { amounts, decimals } = walked;
    if (decimals === undefined) return false;
    const nets = this.#rules.nets(walked, decimals);
    let at = 0;
    const follows = (piece: string): boolean => {
      if (!text.startsWith(piece, at)) return false;
      at += piece.length;
      return true;
    };
    for (const [index, { place, currency }] of amounts.entries()) {
      const isSame =
        follows(this.#start(index)) &&
        follows(this.#head(place, nets.has(index))) &&
        follows(decimals[index]?.text ?? '') &&
        follows(this.#end(currency));
      if (!isSame) return false;
    }
    return at === text.length;
  }

  #start(index: number): string {
    return (this.#starts[index] ??= `${index === 0 ? '' : ','}["${index}",`);
  }

  #head(place: Place, isNet: boolean): string {
    return remembered(this.#heads[isNet ? 1 : 0], place, () => {
      const { role, kind, breakdown } = this.#rules.role(place, isNet);
      return `${[place.path, role, kind, breakdown].map((each) => JSON.stringify(each)).join(',')},"`;
    });
  }

  #end(currency: string | null): string {
    return remembered(this.#ends, currency, () => `",null,${JSON.stringify(currency)}]`);
  }
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
function idFault(event: EventRow, raw: string, file: LogFile): string | undefined {
  const { windowStart, windowEnd } = event;
  const hashed = `${event.list}\0${raw}`;
  const content = hash('sha256', hashed).slice(0, 32);
  if (content !== event.contentHash) return `content_hash is ${event.contentHash}, raw hashes to ${content}`;
  const owner = event.requestedOrderId ?? event.groupId;
  const isPlain = event.isDated || windowStart === null;
  const spanEnd = !isPlain && isImported(file, windowStart, windowEnd) ? windowEnd : null;
  const span = isPlain ? [] : [windowStart, spanEnd].filter((instant) => instant !== null);
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
  const inText = isOrdered ? amounts : amounts.toSorted((a, b) => compare(walkedKey(a), walkedKey(b)));
  const inTable = isOrdered ? entries : entries.toSorted((a, b) => compare(rowKey(a), rowKey(b)));
  for (const [index, amount] of inText.entries()) {
    const fault = amountFault(amount, inTable[index]);
    if (fault !== undefined) return `${amount.place.path}: ${fault}`;
  }
  const stored = entries.flatMap(({ amount, amountText }) => amount ?? amountText ?? []).map(normalised);
  if (numbers !== undefined && numbers.join() !== stored.toSorted().join()) return 'amounts differ in digits from raw';
  return undefined;
}

function amountFault(amount: WalkedAmount, row: EntryRow | undefined): string | undefined {
  if (row === undefined) return 'no entry';
  if (row.path !== amount.place.path) return `the entry has ${row.path}`;
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

function walkedKey({ place, amount, currency }: WalkedAmount): string {
  return amountKey(place.path, amount, currency);
}

function rowKey({ path, amount, amountText, currency }: EntryRow): string {
  const text = amount ?? amountText;
  return amountKey(path, text === null ? null : Number(text), currency);
}

function amountKey(path: string, amount: number | null, currency: string | null): string {
  return JSON.stringify([path, amount === null ? null : String(amount + 0), currency]);
}
