import { dateOrInstant } from '../../../core/numeric/instant.js';
import { groupBy } from '../../../core/group-by.js';
import { joined, spanOf } from '../../../core/windows.js';
import { storedPipelines } from '../../coverage/stored-pipelines.js';
import type { UnfinishedRange } from '../../coverage/unfinished-ranges.js';
import type { Remedy } from '../../remedy.js';
import type { CatalogContext, CheckDefinition } from '../common/check.js';

export const requestedRangesCheck: CheckDefinition = {
  name: 'requested-ranges',
  about: 'what runs requested is loaded',
  counts: 'ranges',
  findsUnloaded: true,
  catalog: checkRequestedRanges,
};

/** Checks that everything is loaded that runs were requested to load. */
function checkRequestedRanges({ lake, runs, unfinished, certificate }: CatalogContext): void {
  const all = byPipeline(unfinished);
  certificate.count(requestedRangesCheck, all.length);
  for (const { account, commands, pipeline, start, end, gaps } of all) {
    const main = storedPipelines(lake).find(({ name }) => name === pipeline)?.main;
    const isCustom = main?.customPipeline !== undefined;
    const also = gaps.length === 1 ? '' : `, in ${gaps.length} gaps`;
    // The command that loads a custom pipeline needs --pipelines too.
    const remedy: Remedy = isCustom ? { kind: 'status' } : { kind: 'load', pipeline, account, windows: gaps };
    const hint = isCustom ? '; status prints the command that loads it' : '';
    certificate.add(
      requestedRangesCheck,
      runs.active.length > 0 ? 'note' : 'upstream',
      { table: main?.name ?? '', file: '', loadKey: '', account, remedy },
      `${dateOrInstant(start)} to ${dateOrInstant(end)} of ${pipeline} for ${account} is not loaded${also}, though a ${commands} requested it${hint}`,
    );
  }
}

interface LackingRange extends Pick<UnfinishedRange, 'account' | 'pipeline' | 'gaps' | 'start' | 'end'> {
  /** The commands that were requested to load it. */
  readonly commands: string;
}

/** The unfinished ranges of several runs, one for each account and pipeline. */
function byPipeline(unfinished: readonly UnfinishedRange[]): LackingRange[] {
  const groups = groupBy(unfinished, ({ account, pipeline }) => `${account} ${pipeline}`);
  return [...groups.values()].flatMap((ranges) => {
    const [{ account, pipeline } = { account: '', pipeline: '' }] = ranges;
    const gaps = joined(ranges.flatMap((range) => range.gaps));
    if (gaps.length === 0) return [];
    const commands = [...new Set(ranges.map(({ command }) => command))].toSorted().join(' and a ');
    return [{ account, pipeline, commands, gaps, ...spanOf(gaps) }];
  });
}
