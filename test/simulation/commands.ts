import { succeeded } from '../app/ended.js';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { backfill } from '../../src/app/load/backfill.js';
import { sync } from '../../src/app/load/sync.js';
import { importPages } from '../../src/app/import/import-pages.js';
import { importLimits } from '../../src/app/import/chunks/chunk-threads.js';
import { compact } from '../../src/app/maintenance/compact-lake.js';
import { forgetIn } from '../../src/app/forget/forget.js';
import { repair } from '../../src/app/repair/repair.js';
import type { CommandResult } from '../../src/app/command-result.js';
import type { RunContext } from '../../src/app/context.js';
import type { RunEvent } from '../../src/core/events/run-event.js';
import { dayMs } from '../../src/core/windows.js';
import { Secret } from '../../src/engine/auth/secret.js';
import { Lake } from '../../src/lake/lake.js';
import type { Store } from '../../src/lake/store/store.js';
import { signInPath } from '../../src/serve/http/sign-in.js';
import type { BackendItem } from '../../src/serve/operation/backend-page.js';
import { tables } from '../../src/sources/finances/lake-tables.js';
import type { Command } from './plan.js';
import { quota, signIn, type Upstream } from './world/upstream.js';
import { clockOf, type Process, type World } from './world/world.js';

/** What a command of the program is given. */
export interface CommandInput {
  readonly world: World;
  readonly process: Process;
  readonly store: Store;
  readonly upstream: Upstream;
  readonly pipelines: readonly string[];
  /** The first day of the simulation, milliseconds since 1970. */
  readonly firstDay: number;
  readonly acceptEmpty?: boolean;
}

/** A command of the simulation. */
type RunCommand = Exclude<Command, { kind: 'damage' }> | { readonly kind: 'repair' };

/** Runs a command of the program, as its command line does. Throws why it failed. */
export async function run(command: RunCommand, input: CommandInput): Promise<void> {
  await succeeded(begin(command, input));
}

async function begin(command: RunCommand, input: CommandInput): Promise<CommandResult> {
  const { process, store, upstream, pipelines } = input;
  const context = contextOf(input);
  const { account } = upstream;
  const load = { ...loadOptions(input), pipelines };
  const range = (command: { readonly fromDay: number; readonly days: number }) => ({
    from: isoDay(input, command.fromDay),
    to: isoDay(input, command.fromDay + command.days),
  });
  switch (command.kind) {
    case 'backfill': {
      const days = range(command);
      return backfill({ ...load, ...days, refresh: command.refresh }, context);
    }
    case 'sync':
      return sync({ ...load, lookBack: command.lookBack, maxLag: undefined }, context);
    case 'retention':
      return sync({ ...load, lookBack: 1, maxLag: undefined, retentionHours: command.hours }, context);
    case 'import': {
      const files = await savedFiles(command, input);
      const limits = { ...importLimits, thread: { from: Infinity } };
      const stdin = (): never => {
        throw new Error('nothing on standard input');
      };
      return importPages({ lake: 'lake', store, account, files, stdin, skipBroken: false, limits }, context);
    }
    case 'compact':
      return compact({ lake: 'lake', store, account: undefined, pipelines: [] }, context);
    case 'forget': {
      const lake = await Lake.open(store, tables, context.clock);
      const before = command.beforeDay === undefined ? undefined : input.firstDay + command.beforeDay * dayMs;
      const options = { account, yes: true, lake: 'lake', journal: process.machine.folder };
      return forgetIn(lake, before, options, { ...context, ...silent, confirm: undefined });
    }
    case 'repair':
      return repair({ lake: 'lake', store, yes: true }, { ...context, ...silent, confirm: undefined });
  }
}

const silent = { print: () => undefined, emit: () => undefined };

function contextOf({ world, process }: CommandInput): RunContext {
  return {
    clock: clockOf(world, process),
    signal: new AbortController().signal,
    emit: (event) => {
      world.note(`${process.label} ${eventText(event)}`);
    },
  };
}

function eventText(event: RunEvent): string {
  return Object.values(event)
    .map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value)))
    .join(' ')
    .slice(0, 200);
}

function loadOptions({ process, store, upstream: { account, origin }, acceptEmpty = false }: CommandInput) {
  return {
    lake: 'lake',
    store,
    account,
    endpoint: origin,
    isEndpointConfigured: false,
    orders: undefined,
    acceptEmpty,
    rate: quota.rate,
    burst: quota.burst,
    journal: process.machine.folder,
    signIn: {
      account,
      tokenEndpoint: `${origin}${signInPath}`,
      clientId: new Secret(signIn.clientId),
      clientSecret: new Secret(signIn.clientSecret),
      refreshToken: new Secret(`refresh token of ${account}`),
    },
  };
}

function isoDay({ firstDay }: CommandInput, day: number): string {
  return new Date(firstDay + day * dayMs).toISOString();
}

/** Files of pages that somebody has saved, the first ones some days ago. */
async function savedFiles(
  { fromDay, days, files }: Extract<Command, { kind: 'import' }>,
  input: CommandInput,
): Promise<string[]> {
  const { world, process, upstream, firstDay } = input;
  const folder = join(process.machine.folder, '..', `saved-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const paths: string[] = [];
  for (let at = 0; at < files; at++) {
    const from = firstDay + (fromDay + at) * dayMs;
    const to = Math.min(from + days * dayMs, world.now());
    const items =
      to <= from
        ? []
        : await upstream.backend.items({ start: from, end: to }, Math.max(to, world.now() - (files - at) * dayMs));
    const pages = Array.from({ length: Math.ceil(items.length / 100) }, (_, page) =>
      items.slice(page * 100, page * 100 + 100),
    );
    const lines = pages.map((page, number) => pageBody(page, number + 1 < pages.length ? `next ${number}` : undefined));
    const path = join(folder, `pages-${at}.ndjson`);
    writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
    paths.push(path);
  }
  return paths;
}

function pageBody(items: readonly BackendItem[], token: string | undefined): string {
  const lists = new Map<string, string[]>();
  for (const { list, json } of items) lists.set(list, [...(lists.get(list) ?? []), json]);
  const text = [...lists].map(([list, events]) => `${JSON.stringify(list)}:[${events.join(',')}]`).join(',');
  return `{"payload":{${token === undefined ? '' : `"NextToken":${JSON.stringify(token)},`}"FinancialEvents":{${text}}}}`;
}
