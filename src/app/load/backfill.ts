import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { futureEndText } from '../configuration/range.js';
import { nextSteps, emptyRunText, summaryObject, summaryText, unbegunSummary } from './run-summary.js';
import { firstInstant } from '../../engine/slicing/window-slicing.js';
import { roles } from '../../../pipelines/all-pipelines.js';
import { jobValues } from '../../engine/run/load-options.js';
import { isoDate } from '../../core/numeric/instant.js';
import { dayMs, type Window } from '../../core/windows.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';
import type { CommandResult } from '../command-result.js';
import type { RunContext } from '../context.js';
import type { RunSummary } from '../results.js';
import { loadResult, withLoad } from './load.js';
import { readLoadRequest } from './load-request.js';
import type { LoadOptions } from './run-settings.js';

/**
 * `ledgerlake backfill`: loads what the lake lacks of a date range.
 *
 * @throws LedgerlakeError USAGE before anything is changed; the failure of the run
 */
export async function backfill(options: LoadOptions, context: RunContext): Promise<CommandResult<RunSummary>> {
  const { clock, emit } = context;
  const request = readLoadRequest('backfill', options, clock.now());
  const { account, pipelines, isCustomOnly, now, range } = request;
  const kept = pipelines.map((pipeline) => keptText(pipeline, range, now));
  for (const message of [futureEndText(options, range, now), ...kept]) {
    if (message !== undefined) emit({ event: 'message', message });
  }
  const known = unbegunSummary(clock, { account, lake: options.lake, from: range.start, to: range.end });
  return withLoad(request, context, known, async (load) => {
    const { lake } = load;
    const isFirst = lake.snapshot.accounts().size === 0;
    const requested = withNeeds(pipelines).flatMap((pipeline): RequestedRange[] => {
      const gaps = pipeline.slicing.coverage?.(lake, account, range).gaps ?? [];
      return gaps.length === 0 ? [] : [{ command: 'backfill', pipeline: pipeline.name, ...range }];
    });
    const job = { ...jobValues(options), kind: 'backfill', account, range, lake } as const;
    const report = await load.run({ pipelines, job, requested });
    const hasRows = lake.tables.some(({ name }) => lake.snapshot.filesOf(name, account).length > 0);
    const isSynthetic = options.endpoint === undefined && !isCustomOnly;
    const events = roles.byDate.flatMap(({ name, main }) => lake.snapshot.filesOf(main.name, account, name));
    const firstEvent = firstInstant(events, 'effective_at');
    const nothing = emptyRunText(report, { firstEvent, hasRows, isSynthetic });
    const next =
      isFirst && report.failure === undefined
        ? nextSteps(report, { ...options, keepsReplaced: lake.snapshot.config.retentionMs > 0 })
        : '';
    const { findings } = report;
    const texts = [summaryText(report), findingsText(findings), nothing === '' ? next : nothing];
    return loadResult(report, texts, { ...summaryObject(report), ...(options.refresh && findingsObject(findings)) });
  });
}

/** What the service doesn't have of a range any more, for people; undefined where it has all. `now`: milliseconds since 1970. */
function keptText({ name, keptDays = Infinity }: FinancesPipeline, { start }: Window, now: number): string | undefined {
  const first = now - keptDays * dayMs;
  // A range of as many days is one of what the service keeps.
  if (start >= first - dayMs) return undefined;
  return (
    `The service keeps ${name.replaceAll('-', ' ')} for ${keptDays} days: ${name} loads those that were created since ` +
    `${isoDate(first)}; import the files of older ones`
  );
}
