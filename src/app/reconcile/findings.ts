import { excerpt } from '../../engine/retry/api-refusal.js';
import { LedgerlakeError } from '../../core/errors.js';
import { nameIn, parseLoadKey } from '../../lake/catalog/load-key.js';
import type { SliceLoads } from '../../lake/loads/load-keys.js';
import { groupBy } from '../../core/group-by.js';
import { formatCount } from '../../core/text/amounts.js';
import { printable } from '../../core/printable.js';
import type {
  ChangedSlices,
  ChangeExample,
  EmptiedSlices,
  PipelineChanges,
  RunSummary,
  UncomparedSlices,
} from '../results.js';

/** What changed in slices that were read before, and is committed now. */
export interface SliceChange extends ChangedSlices {
  readonly pipeline: string;
  /** How many rows the examples are taken from. */
  readonly rows: number;
}

/**
 * Load keys with stored rows whose answer is empty, a listing that lacks stored settlements, which don't vanish, or pages that lack
 * stored events and have some that can't be read. The lake keeps the rows unless the answer is accepted.
 */
export interface Emptied extends EmptiedSlices {
  /** `rows` is an upper bound: the file is damaged, and has rows of other load keys too. */
  readonly atMost?: true;
}

/** How many orders the lake has, and how many of them were read again. */
export interface KnownOrders {
  readonly stored: number;
  readonly returned: number;
}

/** What a run found in the load keys that it read again. */
export interface Findings {
  readonly changes: readonly SliceChange[];
  readonly emptied: readonly Emptied[];
  readonly uncompared: readonly UncomparedSlices[];
}

/** Examples that are kept for each change. */
export const mostExamples = 3;

/** Changes that are listed for each pipeline; the rest is counted. */
const mostListed = 10;

/** The findings for people; empty where nothing changed. */
export function findingsText({ changes, emptied, uncompared }: Findings): string {
  const lines: string[] = [];
  for (const answer of emptied) {
    const kept = answer.accepted
      ? 'the answer was accepted; event_history has what vanished'
      : 'the lake keeps its rows; --accept-empty accepts the answer';
    const stored = rowsText(answer.rows, answer.atMost);
    lines.push(
      `WARNING: ${answer.pipeline}: ${keysInWords(answer.load_keys)} had ${stored}, and the answer is ${lackText(answer) ?? 'empty'}; ${kept}`,
    );
  }
  for (const { pipeline, load_keys: loadKeys, reason } of byReason(uncompared)) {
    const were = loadKeys.length === 1 ? 'was' : 'were';
    lines.push(
      `WARNING: ${pipeline}: ${keysInWords(loadKeys)} ${were} replaced without a comparison: ${printable(reason)}`,
    );
  }
  for (const [pipeline, ofPipeline] of byPipeline(changes)) {
    const changed = ofPipeline.filter(({ rows }) => rows > 0);
    if (changed.length > 0)
      lines.push(`Changed since it was read last, ${pipeline}: ${countsText(summedCounts(changed))}`);
    for (const change of changed.slice(0, mostListed)) {
      lines.push(`  ${keysInWords(change.load_keys)}: ${countsText(change)}`, ...change.examples.map(exampleText));
      const others = change.rows - change.examples.length;
      if (others > 0 && change.examples.length > 0) lines.push(`    and ${formatCount(others)} more`);
    }
    if (changed.length > mostListed) lines.push(`  and ${formatCount(changed.length - mostListed)} more`);
    const { released, grown } = summedCounts(ofPipeline);
    if (released > 0)
      lines.push(`Released since it was read last, ${pipeline}: ${formatCount(released, 'transaction')}`);
    if (grown > 0) lines.push(`Open settlements that have grown, ${pipeline}: ${grownText(ofPipeline, grown)}`);
  }
  return lines.length === 0 ? '' : `${lines.join('\n')}\n`;
}

/** The findings for programs. */
export function findingsObject({
  changes,
  emptied,
  uncompared,
}: Findings): Required<Pick<RunSummary, 'changes' | 'emptied' | 'uncompared'>> {
  const pipelines = [...byPipeline(changes)].map(([pipeline, ofPipeline]): [string, PipelineChanges] => [
    pipeline,
    {
      ...summedCounts(ofPipeline),
      slices: ofPipeline.map((change) => ({
        load_keys: change.load_keys,
        ...summedCounts([change]),
        examples: change.examples,
      })),
    },
  ]);
  return { changes: Object.fromEntries(pipelines), emptied, uncompared };
}

/** The failure of a run with refused empty answers; undefined where there is none. */
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
    `expected results of ${first.pipeline} in ${keysInWords(first.load_keys)}${more}, where the lake has ` +
      `${rowsText(first.rows, first.atMost)}, got ${lack === undefined ? 'an empty answer' : `an answer ${lack}`}; ` +
      `the lake keeps its rows: ${advice}, and if the answer stays the same and is right, with --accept-empty`,
  );
}

/** What an answer lacks; undefined where it is empty. */
function lackText({ rows, lacking, others, holes }: Emptied): string | undefined {
  const unread = holes === true ? ', and parts of it are no JSON' : '';
  if (others !== undefined) return `without any of them, and with ${formatCount(others, 'other')}${unread}`;
  if (lacking < rows) return `without ${formatCount(lacking)} of them${unread}`;
  return holes === true ? `without any of them${unread}` : undefined;
}

/** Whether a run failed because its answers seem to be another account's. */
export function isOtherAccount(failure: unknown): boolean {
  return failure instanceof LedgerlakeError && failure.code === 'UPSTREAM_ACCOUNT';
}

/** The failure of a run whose answers seem to be another account's: they have hardly any of the orders in the lake. */
export function otherAccountFailure(
  { pipeline, account, loadKeys }: Pick<SliceLoads, 'pipeline' | 'account' | 'loadKeys'>,
  { stored, returned }: KnownOrders,
): LedgerlakeError {
  return new LedgerlakeError(
    'UPSTREAM_ACCOUNT',
    `expected the orders of ${account} that are in the lake, got ${formatCount(returned)} of ${formatCount(stored)} and others instead ` +
      `(${pipeline}, up to ${keysInWords(loadKeys)}); this seems to be the answer for another account. The lake keeps its rows: check ` +
      'the credentials, the region and --endpoint of the account, and run again; if the answer is right, with --accept-empty',
  );
}

function rowsText(rows: number, atMost = false): string {
  return `${atMost ? 'up to ' : ''}${formatCount(rows, 'row')}`;
}

function byPipeline(changes: readonly SliceChange[]): Map<string, SliceChange[]> {
  const pipelines = groupBy(changes, ({ pipeline }) => pipeline);
  for (const group of pipelines.values())
    group.sort((a, b) => ((a.load_keys[0] ?? '') < (b.load_keys[0] ?? '') ? -1 : 1));
  return pipelines;
}

/** One for each pipeline and reason, with all load keys in order: a damaged merged file is the reason of many slices. */
function byReason(uncompared: readonly UncomparedSlices[]): readonly UncomparedSlices[] {
  const found = new Map<string, UncomparedSlices>();
  for (const { pipeline, load_keys: loadKeys, reason } of uncompared) {
    const key = `${pipeline} ${reason}`;
    found.set(key, { pipeline, load_keys: [...(found.get(key)?.load_keys ?? []), ...loadKeys].toSorted(), reason });
  }
  return [...found.values()];
}

/** `12 new events in 2 settlements`; of a listing, which is read by months, `2 changed`. */
function grownText(changes: readonly SliceChange[], grown: number): string {
  const growing = changes.filter((change) => change.grown > 0);
  if (growing.some(({ load_keys: loadKeys }) => nameIn('group', loadKeys[0] ?? '') === undefined))
    return `${formatCount(grown)} changed`;
  return `${formatCount(grown, 'new event')} in ${formatCount(growing.length, 'settlement')}`;
}

type ChangeCounts = Omit<PipelineChanges, 'slices'>;

function summedCounts(changes: readonly SliceChange[]): ChangeCounts {
  const sum = (count: (change: SliceChange) => number) => changes.reduce((total, change) => total + count(change), 0);
  return {
    appeared: sum(({ appeared }) => appeared),
    vanished: sum(({ vanished }) => vanished),
    differ: sum(({ differ }) => differ),
    released: sum(({ released }) => released),
    grown: sum(({ grown }) => grown),
  };
}

function countsText({ appeared, vanished, differ }: Pick<SliceChange, 'appeared' | 'vanished' | 'differ'>): string {
  const counts = [`${formatCount(appeared)} appeared`, `${formatCount(vanished)} vanished`];
  return differ === 0 ? counts.join(', ') : `${counts.join(', ')}, ${formatCount(differ)} differ`;
}

function exampleText({ change, id, ...row }: ChangeExample): string {
  const details = [row.event_list, row.amazon_order_id, row.posted_at]
    .filter((detail) => detail !== null)
    .map((detail) => excerpt(detail));
  return `    ${change}: ${[excerpt(id), ...details].join(', ')}`;
}

/** `2025-03-04T00:00:00Z to 2025-03-05T00:00:00Z`, `group …`, `100 orders`. */
function keysInWords(loadKeys: readonly string[]): string {
  const [first = ''] = loadKeys;
  if (loadKeys.length > 1) return `${parseLoadKey(first).kind}s ${loadKeyText(first)} and ${loadKeys.length - 1} more`;
  return loadKeyText(first);
}

function loadKeyText(loadKey: string): string {
  const { kind, name } = parseLoadKey(loadKey);
  if (kind === 'window') return name.replaceAll('.000Z', 'Z').replace('/', ' to ');
  return `${kind} ${excerpt(name)}`;
}
