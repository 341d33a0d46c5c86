import { statementOver } from '../../core/duckdb/sql-statements.js';
import type { ResultCell } from '../../core/text/rows.js';
import { rowsWithSource, sourceColumn } from '../../lake/files/local-parquet.js';
import type { CertificateBuilder, CheckContext, ReadEvent } from './common/check.js';
import { derivedOf, fileOf, pathsOf, type CheckedBundle, type CheckedFile } from './common/checked-files.js';
import { checks } from './check-list.js';
import { amountsCheck } from './checks/amounts.js';
import eventEntries from './statements/event-entries.sql';
import { rulesOf, type EventRules } from './common/event-rules.js';
import { Places, remembered, walkedOf, type EntryRow, type Place, type Walked } from './common/money-walk.js';
import { rawColumnsSql, textsJson } from './common/raw-column-rules.js';
import { uniqueIdsCheck } from './checks/unique-ids.js';

/**
 * Reads the events of bundles of one table with their entries, and checks each event: hash and id from `raw`, and each money object of
 * `raw` against its entry. DuckDB joins, sorts and spills; memory holds some thousand rows.
 *
 * Where the text of all entries is the one that follows from `raw`, that is all; otherwise each check says what is wrong.
 */
export async function checkEvents(bundles: readonly CheckedBundle[], context: CheckContext): Promise<void> {
  const [first] = bundles;
  if (first === undefined) return;
  const { certificate, database } = context;
  const rules = rulesOf(first.main.schema);
  const mains = bundles.map(({ main }) => main);
  const derived = derivedOf(bundles);
  const places = new Places(rules.money.root);
  const expected = new ExpectedEntries(rules);
  let entries: EventEntries | undefined;
  const { chunks } = await database.query(eventsWithEntries(bundles, rules));
  for await (const rows of chunks) {
    for (const [bundle, id, eventText = null, json, entriesText = null, entriesFile] of rows) {
      if (entries !== undefined && entries.bundle === bundle && entries.eventId === id) entries.times++;
      else {
        if (entries !== undefined) addRepeated(entries, certificate);
        entries = undefined;
        if (entriesText !== null) {
          const file = fileOf(derived, entriesFile);
          entries = { bundle, eventId: text(id), text: text(entriesText), file, times: 1, isProved: false };
        }
      }
      if (eventText === null) {
        const fault = `entries of ${text(id)}, which is not an event of the slice`;
        if (entries !== undefined) certificate.addRow(amountsCheck, entries.file, 'event', fault);
        entries = undefined;
        continue;
      }
      const raw = text(json);
      const cells = JSON.parse(text(eventText)) as readonly (string | null)[];
      const walked = walkedOf(raw, rules.money, (value) => places.root(rules.owner(cells[listCell] ?? '', value)));
      const isProved = typeof walked !== 'string' && expected.are(walked, entries?.text ?? '');
      if (isProved && entries !== undefined) entries.isProved = true;
      const file = fileOf(mains, bundle);
      const ofEvent = isProved ? [] : entryRows(entries).rows;
      const amounts = isProved ? walked.amounts.length : ofEvent.length;
      const event = eventOf(cells, { raw, file, rules, walked, isProved, entries: ofEvent, amounts });
      for (const check of eventChecks) check.event?.(event, context);
    }
  }
  if (entries !== undefined) addRepeated(entries, certificate);
}

const eventChecks = checks.filter(({ event }) => event !== undefined);

/** The statement whose rows `event-entries.sql` describes. */
function eventsWithEntries(bundles: readonly CheckedBundle[], { list, group, breakdown, columns }: EventRules): string {
  const ofEvent = [
    ...['event_id', 'content_hash', list, 'posted_at IS NOT NULL', 'epoch_ms(window_start)', 'epoch_ms(window_end)'],
    ...[group, 'requested_order_id', ...rawColumnsSql(columns)],
  ];
  const ofEntry = ['entry', 'path', 'role', 'kind', breakdown, 'amount', 'amount_text', 'currency'];
  const mains = bundles.map(({ main }) => main);
  const derived = bundles.flatMap((bundle, at) => bundle.derived.map((file) => ({ ...file, bundle: at })));
  const bundleOf = derived.map(({ bundle }) => bundle).join(', ');
  const id = "coalesce(event_id, '') AS event_id";
  const eventTexts = `SELECT ${sourceColumn} AS bundle, ${id}, ${textsJson(ofEvent)} AS text, raw`;
  const entryTexts = `SELECT [${bundleOf}][${sourceColumn} + 1] AS bundle, ${id}, ${textsJson(ofEntry)} AS text`;
  const relations = {
    event_texts: `${eventTexts} FROM ${rowsWithSource(pathsOf(mains))}`,
    entry_texts:
      derived.length === 0
        ? "SELECT 0 AS bundle, '' AS event_id, '' AS text, 0 AS file WHERE false"
        : `${entryTexts}, ${sourceColumn} AS file FROM ${rowsWithSource(pathsOf(derived))}`,
  };
  return statementOver(relations, eventEntries);
}

/** The place of the event's list among its texts in the statement. */
const listCell = 2;

/** An event by its texts in the statement. Each field stands here by itself, because a spread for each event takes a tenth of the check. */
function eventOf(
  cells: readonly (string | null)[],
  of: Pick<ReadEvent, 'raw' | 'file' | 'rules' | 'walked' | 'isProved' | 'entries' | 'amounts'>,
): ReadEvent {
  const [eventId, contentHash, list, isDated, start = null, end = null, groupId = null, orderId = null] = cells;
  return {
    eventId: eventId ?? '',
    contentHash: contentHash ?? '',
    list: list ?? '',
    isDated: isDated === 'true',
    windowStart: start === null ? null : Number(start),
    windowEnd: end === null ? null : Number(end),
    groupId,
    requestedOrderId: orderId,
    columns: cells.slice(8),
    raw: of.raw,
    file: of.file,
    rules: of.rules,
    walked: of.walked,
    isProved: of.isProved,
    entries: of.entries,
    amounts: of.amounts,
  };
}

/** The entries with the `event_id` of an event. */
interface EventEntries {
  readonly bundle: ResultCell | undefined;
  readonly eventId: string;
  /** Each as a JSON array of texts, in the order of the file, with commas between. */
  readonly text: string;
  readonly file: CheckedFile;
  /** How many events of the bundle have that id. */
  times: number;
  /** Whether they follow from `raw`. */
  isProved: boolean;
}

/** Adds entries that occur more often than their event. One that the service returned twice has them twice. */
function addRepeated(entries: EventEntries, certificate: CertificateBuilder): void {
  const copies = entries.isProved ? 1 : entryRows(entries).copies;
  if (copies <= entries.times) return;
  certificate.addRow(uniqueIdsCheck, entries.file, 'event', `entries of ${entries.eventId} occur ${copies} times`);
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
function entryRows(entries: EventEntries | undefined): { readonly rows: readonly EntryRow[]; readonly copies: number } {
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

function text(cell: ResultCell | undefined): string {
  return cell === null || cell === undefined ? '' : String(cell);
}
