import { findingsObject, findingsText } from '../reconcile/findings.js';
import { readOrders, areOwn, choosePipelines } from '../configuration/chosen-pipelines.js';
import { readRange, type RangeOptions } from '../configuration/range.js';
import { nextSteps, nothingCame, summaryJson, summaryText } from './run-summary.js';
import { isCustom } from '../../sources/custom/custom-pipeline.js';
import type { RunContext } from '../context.js';
import { load, type LoadOptions } from './load.js';

export interface BackfillOptions extends RangeOptions, LoadOptions {
  /** Names; empty for the default set. */
  readonly pipelines: readonly string[];
  readonly refresh: boolean;
  /** The text of the file with order ids, and its name. */
  readonly orders: { readonly text: string; readonly source: string } | undefined;
}

/**
 * `ledgerlake backfill`: loads what the lake lacks of a date range, and prints a summary.
 *
 * @throws LedgerlakeError USAGE before anything is touched, or the failure that ended the run, its summary printed
 */
export async function backfill(options: BackfillOptions, context: RunContext): Promise<void> {
  const { clock, print } = context;
  const { refresh } = options;
  const pipelines = choosePipelines(options.pipelines, options.orders !== undefined, options.own);
  const orders = options.orders === undefined ? [] : readOrders(options.orders.text, options.orders.source);
  const range = readRange(options, clock.now());
  await load(
    {
      command: 'backfill',
      options,
      refresh,
      own: pipelines.filter(isCustom),
      isOwn: areOwn(pipelines),
      plan: () => ({ pipelines, range, orders, refresh }),
      present: ({ lake, report, findings }) => {
        print(summaryText(report));
        const found = findingsText(findings);
        if (found !== '') print(found);
        const isEmpty = lake.tables.every(({ snapshot }) => [...snapshot.filesOf(report.account)].length === 0);
        const nothing = isEmpty ? nothingCame(report) : '';
        if (nothing !== '') print(nothing);
        else if (report.failure === undefined) print(nextSteps(report));
        if (options.json) print(summaryJson(report, refresh ? findingsObject(findings) : {}));
      },
    },
    context,
  );
}
