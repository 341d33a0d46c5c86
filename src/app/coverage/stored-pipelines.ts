import type { LoadKeyKind } from '../../lake/catalog/load-key.js';
import { pipelineFilling, pipelines } from '../../../pipelines/all-pipelines.js';
import { customPipelinesOf, type PipelineTables, type Table } from '../../core/columns/table.js';
import { joined, uncovered, type Window } from '../../core/windows.js';
import { loadedWindows } from '../../engine/slicing/window-slices.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import type { Lake } from '../../lake/lake.js';
import { importedDays } from '../../lake/loads/imported-spans.js';
import type { FinancesPipeline } from '../../sources/finances/connect-finances.js';

/** The tables of a pipeline, and how it is sliced. */
export type StoredPipeline = PipelineTables & Pick<FinancesPipeline, 'slicing'>;

/** The built-in pipelines, and the custom ones that a lake has tables of. */
export function storedPipelines(lake: Lake): readonly StoredPipeline[] {
  const custom = customPipelinesOf(lake.tables).map((tables) => ({
    ...tables,
    slicing: windowSlicing({ pipeline: tables.name, table: tables.main.name, gridDays: 1, probeDays: 1 }),
  }));
  return [...pipelines, ...custom];
}

/** The kind of the load keys of a main table; undefined for a derived table. */
export function loadKeyKindOf({ name, customPipeline, linesOf }: Table): LoadKeyKind | undefined {
  if (linesOf !== undefined) return undefined;
  if (customPipeline !== undefined) return 'window';
  return pipelineFilling(name)?.slicing.loadKeyKind;
}

/** Whether a run has loaded some of a pipeline from its API. */
export function isLoadedFromApi(lake: Lake, { name }: Pick<PipelineTables, 'name'>, account: string): boolean {
  return [...lake.snapshot.keysOf(account, name).values()].some(({ origin }) => origin === 'api');
}

/** The windows that an account has loaded or imported of a pipeline, in order. */
export function storedWindows(lake: Lake, { name }: Pick<PipelineTables, 'name'>, account: string): Window[] {
  const { snapshot } = lake;
  return joined([...loadedWindows(lake, name, account), ...importedDays(snapshot, name, account)]);
}

/** The parts of a range that an account has loaded or imported of a pipeline; none of one whose slices have no dates. */
export function storedParts(lake: Lake, name: string, account: string, range: Window): readonly Window[] {
  const coverage = storedPipelines(lake)
    .find((pipeline) => pipeline.name === name)
    ?.slicing.coverage?.(lake, account, range);
  const windows = storedWindows(lake, { name }, account);
  return uncovered(
    range,
    (coverage?.gaps ?? [range]).flatMap((gap) => uncovered(gap, windows)),
  );
}
