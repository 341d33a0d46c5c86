import { ReadFailure, type FailureKind } from '../../engine/retry/read-failure.js';
import { LedgerlakeError } from '../../core/errors.js';
import type { Verdict } from '../../engine/run/pipeline.js';
import type { WindowSlice } from '../../engine/run/window-slices.js';
import type { Definition } from '../../engine/slicing/slicing.js';
import { windowSlicing } from '../../engine/slicing/window-slicing.js';
import { defaultPageSize, type OwnConnection, type OwnPage } from './custom-api.js';
import type { LoadedDefinition } from './load-definitions.js';
import { recordCollector } from './record-collector.js';

/** A pipeline of a user's, with the definition that it comes from. */
export interface OwnPipeline extends Definition<unknown, WindowSlice, OwnPage> {
  readonly loaded: LoadedDefinition;
}

const defaultDays = 7;

/** The pipeline of a definition; one without a connection tells what there is to do, and reads nothing. */
export function ownPipeline(loaded: LoadedDefinition, connection?: OwnConnection): OwnPipeline {
  const { definition, table } = loaded;
  const { name, about, api, windows = {} } = definition;
  const { days = defaultDays, probeDays = days, guessPerDay } = windows;
  const { pageSize = defaultPageSize } = api;
  const cutting = { gridDays: days, probeDays, guessPerDay, perPage: pageSize };
  return {
    loaded,
    name,
    about,
    result: 'record',
    operation: name,
    tables: [table],
    perPage: pageSize,
    ...windowSlicing({ pipeline: name, table: table.name, ...cutting }),
    pace: () => connection?.pace(),
    begun: () => connection?.begun() ?? [],
    pages: ({ window }, reading) => {
      if (connection === undefined) throw new Error(`${name} is not connected`);
      return connection.pages(window, reading);
    },
    collect: ({ window }) => recordCollector(loaded, window),
    judge,
  };
}

/** What else may help a window that is left open otherwise. */
const remedies: Partial<Record<FailureKind, Verdict>> = { 'token-expired': 'again', 'too-large': 'part' };

function judge(error: unknown): Verdict {
  // A window that came back empty where there were rows: the others go on.
  if (error instanceof LedgerlakeError && error.code === 'UPSTREAM_EMPTY') return 'leave';
  if (!(error instanceof ReadFailure) || error.consequence === 'stop') return 'stop';
  return remedies[error.kind] ?? 'leave';
}

/** Whether a pipeline is a user's own. */
export function isOwn(pipeline: object): pipeline is OwnPipeline {
  return 'loaded' in pipeline;
}
