import { isAbsolute, relative } from 'node:path';
import type { Clock } from '../../core/clock.js';
import type { CatalogVersion, RunSummary } from '../results.js';
import { countsOf, rowKindIn } from '../row-counts.js';
import { excerpt } from '../../engine/retry/api-refusal.js';
import { count } from '../../core/count.js';
import { codeOf, LedgerlakeError, messageOf } from '../../core/errors.js';
import type { Emit } from '../../core/events/run-event.js';
import { readEndpoint } from '../../engine/http/address.js';
import { writeLastRun, type LastPipeline } from '../../lake/upkeep/last-run.js';
import type { Store } from '../../lake/store/store.js';
import { program } from '../command-text.js';
import { shellWord } from '../../core/text/shell-word.js';
import { figuresOf, type PipelineCounts } from '../../engine/run/pipeline-counts.js';
import { dayStart, type Window } from '../../core/windows.js';
import { formatBytes, formatCount } from '../../core/text/amounts.js';
import { alignedLines } from '../../core/text/width.js';
import { printable, shortRun } from '../../core/printable.js';
import { isoInstant, shortInstant } from '../../core/numeric/instant.js';

/** A run that has ended. */
export interface RunReport {
  readonly account: string;
  /** Its id, as in the lines of its log. */
  readonly run: string;
  readonly range: Window;
  /** As the user wrote it. */
  readonly lake: string;
  /** Rows of the account before this instant were forgotten: milliseconds since 1970. */
  readonly forgottenBefore?: number | undefined;
  readonly seconds: number;
  readonly summaries: readonly PipelineCounts[];
  readonly failure: unknown;
  /** The newest version of the lake's catalog that the run has read or written. */
  readonly catalog: CatalogVersion | null;
}

/** What is known of a run before it begins; null: not known. */
interface KnownRun {
  readonly account: string;
  readonly lake: string;
  readonly from: number | null;
  readonly to: number | null;
}

/** The summary of a run that fails before it has begun. Its time counts from this call. */
export function unbegunSummary(clock: Clock, { account, lake, from, to }: KnownRun): () => object {
  const startedAt = clock.now();
  const instantText = (instant: number | null) => (instant === null ? null : isoInstant(instant));
  return () => ({
    account,
    run: null,
    lake,
    from: instantText(from),
    to: instantText(to),
    seconds: (clock.now() - startedAt) / 1000,
    pipelines: {},
    catalog: null,
  });
}

/** A run for people: its account, and its id as in the lines of its log. */
export function runText({ account, run }: Pick<RunReport, 'account' | 'run'>): string {
  return `${printable(account)}, run ${shortRun(run)}`;
}

const headings = ['pipeline', 'slices', 'requests', 'events', 'entries', 'size', 'time'];

/** The summary for people: the loaded range, a line per pipeline, and the warnings. */
export function summaryText(report: RunReport): string {
  const { range, lake, forgottenBefore = -Infinity, seconds, summaries, failure } = report;
  const loaded = summaries.reduce((slices, summary) => slices + summary.slices, 0);
  const what = `${shortInstant(range.start)} to ${shortInstant(range.end)} for ${runText(report)}`;
  if (failure === undefined && loaded === 0) {
    const isForgotten = range.start < forgottenBefore;
    const forgotten = isForgotten ? `, whose rows before ${shortInstant(forgottenBefore)} were forgotten` : '';
    return `\n${nothingLoaded(summaries)}: ${printable(lake)} already has ${what}${forgotten}. --refresh reads it again.\n`;
  }
  const events = summaries.reduce((sum, { rows }) => sum + countsOf(rows).events, 0);
  const rate = formatCount(Math.round(events / Math.max(seconds, 0.001)));
  const lines = [
    '',
    failure === undefined ? `Loaded ${what}` : `Not done: ${what}; what is listed here is in the lake and stays`,
    '',
    ...summaryGrid(summaries),
    ...(events === 0 ? [] : ['', `${formatCount(events, 'event')} in ${seconds.toFixed(1)} s, ${rate} a second`]),
    ...warningLines(summaries),
  ];
  return `${lines.join('\n')}\n`;
}

/** Why no slice was loaded, and how many requests were sent. */
function nothingLoaded(summaries: readonly PipelineCounts[]): string {
  const requests = summaries.reduce((sum, summary) => sum + summary.requests, 0);
  if (requests === 0) return 'Nothing to do';
  const sent = `${formatCount(requests, 'request')} ${requests === 1 ? 'was' : 'were'} sent`;
  return summaries.some(({ conflicts }) => conflicts > 0)
    ? `Nothing new to commit, because another run committed these windows meanwhile; ${sent}`
    : `Nothing new to commit; ${sent}`;
}

/** What is known of an account without events in a range. */
interface EventlessAccount {
  /** The first event in the lake, milliseconds since 1970; undefined: the lake has none. */
  readonly firstEvent: number | undefined;
  /** Whether the lake has rows of any table. */
  readonly hasRows: boolean;
  /** Whether it is the synthetic seller. */
  readonly isSynthetic: boolean;
}

/**
 * The text on a run without events before the account's first one, or into a lake without rows of the account, where a run without
 * rows would look like success; empty for other runs. A new shop and a wrong region look alike.
 */
export function emptyRunText(
  { account, range, summaries, failure }: RunReport,
  { firstEvent, hasRows, isSynthetic }: EventlessAccount,
): string {
  const requests = summaries.reduce((sum, summary) => sum + summary.requests, 0);
  const { events } = countsOf(new Map(summaries.flatMap(({ rows }) => [...rows])));
  if (failure !== undefined || requests === 0 || events > 0) return '';
  const none = `no events between ${shortInstant(range.start)} and ${shortInstant(range.end)}`;
  if (firstEvent !== undefined) {
    if (firstEvent < range.end) return '';
    return `WARNING: ${none}; the first event of ${printable(account)} in the lake is of ${shortInstant(dayStart(firstEvent))}.\n`;
  }
  if (hasRows) return '';
  const remedy = isSynthetic
    ? 'The history of the synthetic seller begins about 90 days ago: choose a later range.'
    : `Check that ${printable(account)} had sales then, and that its region or endpoint is correct.`;
  return `WARNING: ${none}: ${formatCount(requests, 'request')} returned none. ${remedy}\n`;
}

/** In SQL, of the entries of each API: whether one counts towards what was earned. */
const netConditions = [
  { entries: 'entries', isNet: "role = 'net'" },
  { entries: 'transaction_entries', isNet: "role = 'net' AND status = 'RELEASED'" },
] as const;

/** Commands to run next on the lake, in lines that fit a terminal; they name the lake only where it isn't the default one. */
export function nextSteps(
  { lake, summaries }: RunReport,
  {
    isDefaultLake = false,
    keepsReplaced,
  }: { readonly isDefaultLake?: boolean | undefined; readonly keepsReplaced: boolean },
): string {
  const tables = summaries.flatMap(({ rows }) => [...rows.keys()]);
  // A pipeline's last table is its main one.
  const table = tables.at(-1);
  const at = isDefaultLake ? '' : `--lake ${printable(shellWord(lake))} `;
  const net = netConditions.find(({ entries }) => tables.includes(entries));
  if (table !== undefined && net === undefined) {
    return `Next:\n  ${program} sql ${at}"SELECT month, count(*) FROM ${printable(table)} GROUP BY ALL ORDER BY ALL"\n`;
  }
  const { entries, isNet } = net ?? netConditions[0];
  const near = isAbsolute(lake) ? relative('', lake) : lake;
  const folder = printable(near.startsWith('..') ? lake : near);
  const plain = [
    'or net proceeds by month and kind with DuckDB itself:',
    '  duckdb -c "SELECT month, currency, kind, sum(amount) AS net',
    `    FROM read_parquet('${folder}/${entries}/account=*/*/*.parquet')`,
    `    WHERE ${isNet} GROUP BY ALL ORDER BY ALL"`,
  ];
  return [
    'Next, what was earned by month, and a report:',
    `  ${program} sql ${at}"SELECT month, currency, earned, sales FROM pnl_by_month"`,
    `  ${program} report ${at}`.trimEnd(),
    // The pattern would count replaced rows, too.
    ...(keepsReplaced ? [] : plain),
    '',
  ].join('\n');
}

/** The summary for programs; those of a command follow. */
export function summaryObject(report: RunReport): RunSummary {
  const { account, run, range, lake, seconds, summaries, failure, catalog } = report;
  return {
    status: failure === undefined ? 'done' : 'failed',
    account,
    run,
    lake,
    from: isoInstant(range.start),
    to: isoInstant(range.end),
    seconds,
    pipelines: Object.fromEntries(summaries.map((summary) => [summary.pipeline, pipelineObject(summary)])),
    catalog,
  };
}

function pipelineObject(counts: PipelineCounts): RunSummary['pipelines'][string] {
  const { files, bytes, seconds, rows, ...requests } = figuresOf(counts);
  const { warnings, leftOpen } = counts;
  return {
    ...requests,
    ...countsOf(counts.rows),
    files,
    bytes,
    seconds,
    rows,
    warnings: Object.fromEntries([...warnings].map(([kind, times]) => [kind, Object.fromEntries(times)])),
    left_open: leftOpen.map(({ label, reason }) => ({ slice: label, reason })),
  };
}

function summaryRow({ pipeline, slices, requests, rows, files, bytes, seconds }: PipelineCounts): string[] {
  // Rows were read again, and no file was replaced because none differ.
  const isUnchanged = files === 0 && [...rows.values()].some((count) => count > 0);
  return [
    printable(pipeline),
    formatCount(slices),
    formatCount(requests),
    ...countCells(rows),
    isUnchanged ? 'unchanged' : formatBytes(bytes),
    `${seconds.toFixed(1)} s`,
  ];
}

/** Events, or transactions, and entries; of a table that has neither its rows, by table where records have lines. */
function countCells(rows: ReadonlyMap<string, number>): readonly [string, string] {
  const isOther = (table: string) => !['event', 'entry'].includes(rowKindIn(table) ?? '');
  const others = [...rows].filter(([table]) => isOther(table)).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { events, entries } = countsOf(rows);
  if (others.length > 1) {
    return [others.map(([table, count]) => `${formatCount(count)} ${printable(table)}`).join(', '), ''];
  }
  const [other] = others;
  if (other === undefined) return [formatCount(events), formatCount(entries)];
  return [formatCount(other[1], rowKindIn(other[0]) === 'group' ? 'group' : 'row'), ''];
}

/** A line for each pipeline, under headings. */
export function summaryGrid(summaries: readonly PipelineCounts[]): string[] {
  return alignedLines([headings, ...summaries.map(summaryRow)]);
}

/** The text of each kind of warning, after its count. */
export const warningTexts: Readonly<Record<string, string>> = {
  unknownLists: 'events in lists that the model does not know',
  unknownPaths:
    'amounts at paths that the model does not know (kind unknown; `ask unknown-amounts` lists those of the ledger)',
  unfitValues: 'values without a column that holds them exactly (null there, complete in raw)',
  oddFields: 'values of an unexpected type (null in their column, complete in raw)',
  textAmounts: 'amounts that came as text (each counts as the number that it is)',
  repaired: 'records with a text that is no JSON (repaired in raw)',
  holes: 'places that could not be read (left out)',
  unknownOrders: 'orders that the service does not know',
  beyondHistory: 'ranges older than two years that came back empty (the service keeps about two years)',
  missingSettlements: 'places where the list seems to omit settlements, also when it was read again',
  unreconciled: 'transactions whose breakdowns do not add up to their total (the total itself is net)',
  repeated: 'records that an answer repeats (each counts once, in its last version)',
  unreadAmounts: 'lines without an amount that can be read (no sum has them, see amount_text)',
  unwrittenReports: 'reports that the service could not write (their settlements are in none)',
  inexactAmounts: 'amounts that no sum has, because DECIMAL(18,6) cannot hold them (see amount_text)',
};

/** The warnings of a run, a line for each kind. */
export function warningLines(summaries: readonly PipelineCounts[]): string[] {
  const totals = new Map<string, Map<string, number>>();
  for (const { warnings } of summaries) {
    for (const [kind, counts] of warnings) {
      const sums = totals.get(kind) ?? new Map<string, number>();
      for (const [location, times] of counts) count(sums, location, times);
      totals.set(kind, sums);
    }
  }
  return [...totals].flatMap(([kind, counts]) => {
    const all = [...counts.values()].reduce((sum, times) => sum + times, 0);
    const named = [...counts]
      .slice(0, 3)
      .map(([subject, times]) => (kind === 'inexactAmounts' ? timesIn(times, subject) : excerpt(subject)))
      .join('; ');
    const more = counts.size > 3 ? ` and ${counts.size - 3} more` : '';
    const text = warningTexts[kind] ?? printable(kind);
    // Each text begins with a plural.
    const counted = all === 1 ? text.replace(/^(\w+)s\b/, '$1') : text;
    return [`Warning: ${formatCount(all)} ${counted}: ${named}${more}`];
  });
}

/** `2 in USD`. */
function timesIn(times: number, currency: string): string {
  return `${formatCount(times)} in ${currency === '' ? 'no currency' : excerpt(currency)}`;
}

/** The failure of a run that has loaded everything but its holes; undefined without any. */
export function holesFailure(summaries: readonly PipelineCounts[]): LedgerlakeError | undefined {
  const holes = summaries.flatMap(({ pipeline, warnings }) =>
    [...(warnings.get('holes') ?? [])].map(([place, times]) => ({ place: `${pipeline} ${place}`, times })),
  );
  const [first] = holes;
  if (first === undefined) return undefined;
  const total = holes.reduce((sum, { times }) => sum + times, 0);
  const more = total === 1 ? '' : `, and ${total - 1} more`;
  const message = `could not read ${first.place}${more}; all else is loaded`;
  return new LedgerlakeError('HOLES', message);
}

/** What the note of a run has beside its report. */
interface RunNote {
  readonly command: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly endedAt: number;
  readonly endpoint: string | undefined;
  readonly isEndpointConfigured?: boolean | undefined;
  /** Names of the requested pipelines. */
  readonly requested: readonly string[];
  /** Seconds to add to this machine's clock, where it differed from the API's. */
  readonly clockOffsetSeconds?: number | undefined;
}

/**
 * Notes a run in the lake, for `ledgerlake status` and `ledgerlake report`. The note is disposable: a failure to write it is
 * reported and doesn't change the result of the run.
 */
export async function noteRun(
  store: Store,
  { account, range, summaries, failure }: RunReport,
  { command, startedAt, endedAt, endpoint, isEndpointConfigured, requested, clockOffsetSeconds }: RunNote,
  emit: Emit,
): Promise<void> {
  const pipelines = Object.fromEntries(
    summaries.map((counts): [string, LastPipeline] => {
      const { slices, requests, files, bytes, rows } = figuresOf(counts);
      return [counts.pipeline, { slices, requests, files, bytes, rows, warnings: keptWarnings(counts.warnings) }];
    }),
  );
  try {
    // Without user and password, so that it may be shown. An import copies it from the note of the run before.
    const address = endpoint === undefined ? undefined : readEndpoint(endpoint);
    await writeLastRun(store, {
      command,
      status: failure === undefined ? 'done' : 'failed',
      startedAt: isoInstant(startedAt),
      endedAt: isoInstant(endedAt),
      account,
      from: isoInstant(range.start),
      to: isoInstant(range.end),
      endpoint: address === undefined ? null : address.origin + address.prefix,
      ...(isEndpointConfigured === true ? { endpointConfigured: true } : {}),
      ...(clockOffsetSeconds === undefined ? {} : { clockOffsetSeconds }),
      failure: failure === undefined ? null : messageOf(failure),
      ...(failure === undefined ? {} : { code: codeOf(failure) }),
      pipelines,
      requested: [...requested],
    });
  } catch (error) {
    emit({ event: 'note-not-written', note: 'last-run', reason: messageOf(error) });
  }
}

/** Locations that are kept of each kind of warning: they bound the size of the note. */
const mostLocations = 20;

function keptWarnings(warnings: RunReport['summaries'][number]['warnings']): Record<string, Record<string, number>> {
  const most = (counts: ReadonlyMap<string, number>) =>
    Object.fromEntries([...counts].toSorted(([, one], [, other]) => other - one).slice(0, mostLocations));
  return Object.fromEntries([...warnings].map(([kind, counts]) => [kind, most(counts)]));
}
