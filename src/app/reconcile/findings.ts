import { excerpt } from '../../engine/retry/api-refusal.js';
import { LedgerlakeError } from '../../core/errors.js';
import { groupBy } from '../../core/group-by.js';
import { formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';

/** One thing that changed, for people. */
export interface ChangeExample {
  readonly change: 'appeared' | 'vanished' | 'differs';
  /** `event_id`, or `group_id`. */
  readonly id: string;
  readonly eventList: string | null;
  readonly amazonOrderId: string | null;
  /** ISO 8601; of a group its start. */
  readonly postedAt: string | null;
}

/** What had changed in something that was read before, and is committed now. */
export interface Change {
  readonly pipeline: string;
  /** The load keys that were read before: `window/START/END`, `group/ID`, `order/ID`. */
  readonly units: readonly string[];
  /** Rows that were not there when it was read last. */
  readonly appeared: number;
  /** Rows that were there. */
  readonly vanished: number;
  /**
   * Of events: how many pairs of one that vanished and one that appeared have order and list in common, so that one seems
   * to have replaced the other; both are counted above as well. Of groups: those that say something else now.
   */
  readonly differ: number;
  /** Rows that the examples are the first of. */
  readonly rows: number;
  readonly examples: readonly ChangeExample[];
}

/**
 * Units that held rows and came back without any, or a listing that lacks settlements, which don't vanish: what the lake holds
 * of them stays, unless that was asked for.
 */
export interface Emptied {
  readonly pipeline: string;
  readonly units: readonly string[];
  /** Rows that the lake holds, or held where it was taken as it came. */
  readonly rows: number;
  /** How many of them the answer lacks. */
  readonly lacking: number;
  /** How many came that it does not hold, where it lacks all; left out: none. */
  readonly others?: number;
  readonly accepted: boolean;
  /** The file with them is damaged and has rows of other load keys too: it may be fewer. */
  readonly atMost?: true;
}

/** How many orders a state holds, and how many of them the other one has as well. */
export interface KnownOrders {
  readonly stored: number;
  readonly returned: number;
}

/** Units that could not be compared, as the lake's own file of them is damaged: they were replaced all the same. */
export interface Uncompared {
  readonly pipeline: string;
  readonly units: readonly string[];
  readonly reason: string;
}

/** What the refreshes of a run came upon. */
export interface Findings {
  readonly changes: readonly Change[];
  readonly emptied: readonly Emptied[];
  readonly uncompared: readonly Uncompared[];
}

/** Examples that are kept of each change. */
export const mostExamples = 3;

/** Changed load keys that are listed of each pipeline; the rest is counted. */
const mostListed = 10;

/** What had changed in what was read again, for people; empty where nothing had. */
export function findingsText({ changes, emptied, uncompared }: Findings): string {
  const lines: string[] = [];
  for (const answer of emptied) {
    const kept = answer.accepted
      ? 'the answer was accepted; event_history has what vanished'
      : 'the lake keeps its rows; --accept-empty accepts the answer';
    const stored = rowsText(answer.rows, answer.atMost);
    lines.push(
      `WARNING: ${answer.pipeline}: ${unitsText(answer.units)} had ${stored}, and the answer is ${lackText(answer) ?? 'empty'}; ${kept}`,
    );
  }
  for (const { pipeline, units, reason } of byReason(uncompared)) {
    const were = units.length === 1 ? 'was' : 'were';
    lines.push(`WARNING: ${pipeline}: ${unitsText(units)} ${were} replaced without a comparison: ${printable(reason)}`);
  }
  for (const [pipeline, ofPipeline] of byPipeline(changes)) {
    lines.push(`Changed since it was read last, ${pipeline}: ${countsText(sumOf(ofPipeline))}`);
    for (const change of ofPipeline.slice(0, mostListed)) {
      lines.push(`  ${unitsText(change.units)}: ${countsText(change)}`, ...change.examples.map(exampleText));
      const others = change.rows - change.examples.length;
      if (others > 0) lines.push(`    and ${formatCount(others)} more`);
    }
    if (ofPipeline.length > mostListed) lines.push(`  and ${formatCount(ofPipeline.length - mostListed)} more`);
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** The same for programs. */
export function findingsObject({ changes, emptied, uncompared }: Findings): Readonly<Record<string, unknown>> {
  const pipelines = [...byPipeline(changes)].map(([pipeline, ofPipeline]) => [
    pipeline,
    {
      ...sumOf(ofPipeline),
      units: ofPipeline.map(({ units, appeared, vanished, differ, examples }) => ({
        units,
        appeared,
        vanished,
        differ,
        examples: examples.map(({ change, id, eventList, amazonOrderId, postedAt }) => ({
          change,
          id,
          event_list: eventList,
          amazon_order_id: amazonOrderId,
          posted_at: postedAt,
        })),
      })),
    },
  ]);
  return { changes: Object.fromEntries(pipelines) as unknown, emptied, uncompared };
}

/** The failure of a run in which something came back empty that held rows; undefined where nothing did. */
export function emptyFailure({ emptied }: Findings): LedgerlakeError | undefined {
  const refused = emptied.filter(({ accepted }) => !accepted);
  const [first] = refused;
  if (first === undefined) return undefined;
  const more = refused.length === 1 ? '' : ` and ${refused.length - 1} more`;
  const lack = lackText(first);
  const isOther = refused.some(({ others }) => others !== undefined);
  const advice = isOther ? "check the account's credentials, its region and --endpoint, and run again" : 'run again';
  return new LedgerlakeError(
    'UPSTREAM_EMPTY',
    `expected results of ${first.pipeline} in ${unitsText(first.units)}${more}, where the lake has ` +
      `${rowsText(first.rows, first.atMost)}, got ${lack === undefined ? 'an empty answer' : `an answer ${lack}`}; ` +
      `the lake keeps its rows: ${advice}, and if the answer stays the same and is right, with --accept-empty`,
  );
}

/** What an answer lacks; undefined where it is empty. */
function lackText({ rows, lacking, others }: Emptied): string | undefined {
  if (others !== undefined) return `without any of them, and with ${formatCount(others, 'other')}`;
  return lacking < rows ? `without ${formatCount(lacking)} of them` : undefined;
}

/** Whether a run failed as its answers seem to be another account's. */
export function isOtherAccount(failure: unknown): boolean {
  return failure instanceof LedgerlakeError && failure.code === 'UPSTREAM_ACCOUNT';
}

/** The failure of a run whose answers seem to be another account's: of the orders that the lake holds hardly any came. */
export function otherAccountFailure(
  {
    pipeline,
    account,
    loadKeys,
  }: { readonly pipeline: string; readonly account: string; readonly loadKeys: readonly string[] },
  { stored, returned }: KnownOrders,
): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_ACCOUNT',
    `expected the orders of ${account} that are in the lake, got ${formatCount(returned)} of ${formatCount(stored)} and others instead ` +
      `(${pipeline}, up to ${unitsText(loadKeys)}); this seems to be the answer for another account. The lake keeps its rows: check ` +
      'the credentials, the region and --endpoint of the account, and run again; if the answer is right, with --accept-empty',
  );
}

function rowsText(rows: number, atMost = false): string {
  return `${atMost ? 'up to ' : ''}${formatCount(rows, 'row')}`;
}

function byPipeline(changes: readonly Change[]): Map<string, Change[]> {
  const pipelines = groupBy(changes, ({ pipeline }) => pipeline);
  for (const group of pipelines.values()) group.sort((a, b) => ((a.units[0] ?? '') < (b.units[0] ?? '') ? -1 : 1));
  return pipelines;
}

/** A merged file that is damaged is the reason of many slices: each reason with all of its load keys, in order. */
function byReason(uncompared: readonly Uncompared[]): readonly Uncompared[] {
  const found = new Map<string, Uncompared>();
  for (const { pipeline, units, reason } of uncompared) {
    const key = `${pipeline} ${reason}`;
    found.set(key, { pipeline, units: [...(found.get(key)?.units ?? []), ...units].toSorted(), reason });
  }
  return [...found.values()];
}

function sumOf(changes: readonly Change[]): Pick<Change, 'appeared' | 'vanished' | 'differ'> {
  const sum = (count: (change: Change) => number) => changes.reduce((total, change) => total + count(change), 0);
  return {
    appeared: sum(({ appeared }) => appeared),
    vanished: sum(({ vanished }) => vanished),
    differ: sum(({ differ }) => differ),
  };
}

function countsText({ appeared, vanished, differ }: Pick<Change, 'appeared' | 'vanished' | 'differ'>): string {
  const counts = [`${formatCount(appeared)} appeared`, `${formatCount(vanished)} vanished`];
  return differ === 0 ? counts.join(', ') : `${counts.join(', ')}, ${formatCount(differ)} differ`;
}

function exampleText({ change, id, eventList, amazonOrderId, postedAt }: ChangeExample): string {
  const details = [eventList, amazonOrderId, postedAt]
    .filter((detail) => detail !== null)
    .map((detail) => excerpt(detail));
  return `    ${change}: ${[excerpt(id), ...details].join(', ')}`;
}

/** `2025-03-04T00:00:00Z to 2025-03-05T00:00:00Z`, `group …`, `100 orders`. */
function unitsText(units: readonly string[]): string {
  const [first = ''] = units;
  if (units.length > 1) return `${first.split('/')[0] ?? ''}s ${shown(first)} and ${units.length - 1} more`;
  return shown(first);
}

function shown(loadKey: string): string {
  const [kind = '', ...rest] = loadKey.split('/');
  if (kind === 'window') return rest.map((instant) => instant.replace('.000Z', 'Z')).join(' to ');
  return `${kind} ${excerpt(rest.join('/'))}`;
}
