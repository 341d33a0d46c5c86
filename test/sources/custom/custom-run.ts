import type { Clock } from '../../../src/core/clock.js';
import type { LoadOptions } from '../../../src/app/load/run-settings.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import type { PipelineDefinition } from '../../../src/sources/custom/definition.js';
import { customPipeline, type CustomPipeline } from '../../../src/sources/custom/custom-pipeline.js';
import { customTables } from '../../../src/sources/custom/custom-table.js';
import { loadDefinitions } from '../../../src/sources/custom/load-definitions.js';
import { database, ran, type Ran } from '../../app/lake-run.js';
import { runningClock } from '../../running-clock.js';
import { token, type ParcelServer } from './parcel-server.js';
import shipments from './typescript/shipments.js';

/** The pipeline of the docs over a service, without a look at the environment. */
export function shipmentsFrom(
  { url }: Pick<ParcelServer, 'url'>,
  more: Partial<PipelineDefinition> = {},
): CustomPipeline {
  const authorization = `Bearer ${token}`;
  const definition: PipelineDefinition = {
    ...shipments,
    ...more,
    api: { ...shipments.api, quota: { rate: 90, burst: 50 }, ...more.api, address: url, headers: { authorization } },
  };
  return customPipeline({ file: 'shipments.js', definition, ...customTables(definition) });
}

export interface OwnRun extends Partial<LoadOptions> {
  readonly lake: string;
  readonly clock?: Clock;
  readonly logged?: string[];
  readonly emitted?: RunEvent[];
}

/** Backfills it to the end; throws what that throws. */
export function loaded(
  own: CustomPipeline,
  { clock = ownClock(), logged = [], emitted = [], ...options }: OwnRun,
): Promise<Ran> {
  return ran(
    { pipelines: [own.name], account: 'depot', customPipelines: [own], ...options },
    { clock, logged, emitted },
  );
}

/** Backfills one of examples/pipelines for the account my-shop; pauses of seconds go by in milliseconds. */
export async function exampleLoaded(
  name: string,
  { clock = runningClock('2025-04-01T00:00:00Z', 40), logged = [], emitted = [], ...options }: OwnRun,
): Promise<Ran> {
  const found = await loadDefinitions('examples/pipelines', { pipelines: [], tables: [] });
  const own = found.filter(({ definition }) => definition.name === name).map((loaded) => customPipeline(loaded));
  return ran({ pipelines: [name], account: 'my-shop', customPipelines: own, ...options }, { clock, logged, emitted });
}

/** Begins when all shipments of the tests have left. */
export function ownClock(): Clock {
  return runningClock('2025-03-01T00:00:00Z');
}

/** One row of a query over a lake. */
export async function rowOf(lake: string, query: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await (await database(lake, ownClock(), query)).rows(query))[0];
}
