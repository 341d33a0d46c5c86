import { findingsObject, findingsText } from '../reconcile/findings.js';
import type { RequestedRange } from '../../lake/upkeep/requested-ranges.js';
import { withNeeds } from '../configuration/chosen-pipelines.js';
import { futureEndText, readDateRange, type RangeOptions } from '../configuration/range.js';
import { withProvisionalSummary } from '../provisional-summary.js';
import { nextSteps, emptyRunText, summaryObject, summaryText } from './run-summary.js';
import { firstInstant } from '../../engine/slicing/window-slicing.js';
import { byDate, byTransaction } from '../verify/checks/main-tables.js';
import type { RunContext } from '../context.js';
import { readJob } from './load-job.js';
import { load, type LoadOptions } from './load.js';

export interface BackfillOptions extends RangeOptions, LoadOptions {
  readonly refresh: boolean;
  /** Whether the lake is the default one of commands; left out: it isn't. */
  readonly isDefaultLake?: boolean;
}

/**
 * `ledgerlake backfill`: loads what the lake lacks of a date range, and prints a summary.
 *
 * @throws LedgerlakeError USAGE before anything is changed, or the failure that ended the run, after its summary is printed
 */
export async function backfill(options: BackfillOptions, given: RunContext): Promise<void> {
  const { clock, emit, print, printJson } = given;
  const { refresh } = options;
  const job = readJob(options);
  const now = clock.now();
  const range = readDateRange({ ...options, marginMinutes: job.marginMinutes }, now);
  const note = futureEndText(options, range, now);
  if (note !== undefined) emit({ event: 'message', message: note });
  const { account } = job;
  const known = { account, lake: options.lake, from: range.start, to: range.end };
  const context = withProvisionalSummary(given, known);
  /** Whether the lake was empty before this run. */
  let isFirst = false;
  await load(
    {
      command: 'backfill',
      options,
      job,
      refresh,
      plan: (lake) => {
        isFirst = lake.accounts().size === 0;
        const asked = withNeeds(job.pipelines).flatMap((pipeline): RequestedRange[] => {
          const gaps = pipeline.coverage?.(lake, job.account, range).gaps ?? [];
          return gaps.length === 0 ? [] : [{ command: 'backfill', pipeline: pipeline.name, ...range }];
        });
        return { pipelines: job.pipelines, range, asked };
      },
      present: ({ lake, report, findings }) => {
        print(summaryText(report));
        const found = findingsText(findings);
        if (found !== '') print(found);
        const hasRows = lake.tables.some(({ snapshot }) => [...snapshot.filesOf(account)].length > 0);
        const isSynthetic = options.endpoint === undefined && !job.isCustomOnly;
        const events = [byDate, byTransaction].flatMap(({ pipeline, table }) => lake.files(pipeline, table, account));
        const firstEvent = firstInstant(events, 'effective_at');
        const nothing = emptyRunText(report, { firstEvent, hasRows, isSynthetic });
        if (nothing !== '') print(nothing);
        else if (isFirst && report.failure === undefined) print(nextSteps(report, options));
        printJson({ ...summaryObject(report), ...(refresh && findingsObject(findings)) });
      },
    },
    context,
  );
}
