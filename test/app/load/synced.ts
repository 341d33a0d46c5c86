import { withTransactions } from '../../serve/http/array-backend.js';
import { startEmbeddedService } from '../../../src/emulator/emulator.js';
import { createHash } from 'node:crypto';
import type { Clock } from '../../../src/core/clock.js';
import type { Emit } from '../../../src/core/events/run-event.js';
import type { LoadOptions } from '../../../src/app/load/run-settings.js';
import { sync, type SyncInTurns } from '../../../src/app/load/sync.js';
import { ended } from '../ended.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import { plainLog } from '../../../src/observe/log/plain-log.js';

/** A clock that a test sets; who sleeps on it sleeps until its signal wakes it. */
export interface SetClock extends Clock {
  set(iso: string | number): void;
}

export function setClock(iso: string): SetClock {
  let now = Date.parse(iso);
  return {
    now: () => now,
    set: (to) => {
      now = typeof to === 'number' ? to : Date.parse(to);
    },
    sleep: (_ms, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => {
          reject(signal.reason as Error);
        });
      }),
  };
}

const defaults: LoadOptions = {
  pipelines: [],
  lake: '',
  account: undefined,
  endpoint: undefined,
  startEmbedded: startEmbeddedService,
  rate: 1000,
  burst: 1000,
  orders: undefined,
  lookBack: undefined,
  maxLag: undefined,
};

export interface Synced {
  readonly printed: string;
  readonly logged: string;
  readonly failure: unknown;
  /** Empty where the sync has no result. */
  readonly summary: {
    readonly status: string;
    readonly lag_seconds: number | null;
    readonly pipelines: Record<string, Record<string, number>>;
    readonly changes: Record<
      string,
      {
        appeared: number;
        vanished: number;
        differ: number;
        released: number;
        grown: number;
        slices: { load_keys: string[] }[];
      }
    >;
    readonly emptied: { load_keys: string[]; accepted: boolean }[];
  };
}

/** Runs a sync to its end; what it threw is told. */
export async function synced(
  options: Partial<LoadOptions>,
  {
    clock,
    signal = new AbortController().signal,
    closing,
    turns,
    emit = () => undefined,
  }: { clock: Clock; signal?: AbortSignal; closing?: AbortSignal; turns?: SyncInTurns; emit?: Emit },
): Promise<Synced> {
  const logged: string[] = [];
  const log = plainLog((line) => logged.push(line));
  const emitBoth: Emit = (event) => {
    log(event);
    emit(event);
  };
  const context = { clock, signal, closing, emit: emitBoth };
  const { printed, failure, summary = {} } = await ended(sync({ ...defaults, ...options }, context, turns));
  return { printed, logged: logged.join('\n'), failure, summary: summary as Synced['summary'] };
}

/** What a backend hides at an instant. */
export type Hides = (item: BackendItem, asOf: number) => boolean;

/** A backend that leaves out some of what another one has, for as long as it hides it. */
export function hidingBackend(backend: Backend, hides: Hides): Backend {
  const shown = async <P extends BackendPage | undefined>(answer: Promise<P>, { asOf }: BackendQuery): Promise<P> => {
    const page = await answer;
    return page && { ...page, items: page.items.filter((item) => !hides(item, asOf)) };
  };
  const { byTransaction } = backend;
  return {
    groups: (range, query) => backend.groups(range, query),
    events: (range, query) => shown(backend.events(range, query), query),
    eventsOfGroup: (id, query) => shown(backend.eventsOfGroup(id, query), query),
    eventsOfOrder: (id, query) => shown(backend.eventsOfOrder(id, query), query),
    byTransaction:
      byTransaction &&
      withTransactions(byTransaction, (question, query) => shown(byTransaction.transactions(question, query), query)),
  };
}

/** When an event was posted, as its JSON says; undefined for one without a date. */
export function postedAt({ json }: BackendItem): number | undefined {
  const [, text] = /"(?:PostedDate|postedDate|TransactionPostedDate)":"([^"]+)"/.exec(json) ?? [];
  return text === undefined ? undefined : Date.parse(text);
}

/** A number from 0 on, below `below`, that is always the same for an event. */
export function lot({ list, json }: BackendItem, below: number): number {
  return createHash('sha256').update(`${list} ${json}`).digest().readUInt32BE(0) % below;
}
