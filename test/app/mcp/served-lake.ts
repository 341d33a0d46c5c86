import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { onTestFinished } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { createLakeServer } from '../../../src/app/mcp/server.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import { startEmulator } from '../../emulator/emulator.js';
import { clockAt, ran } from '../lake-run.js';

export const clock = clockAt('2026-03-15T12:00:00Z');

/** Loads an account of a synthetic seller: the pipelines, or both APIs and settlement reports. */
export async function loadAccount(
  lake: string,
  account: string,
  {
    seed,
    to = '2026-03-10',
    pipelines,
  }: { readonly seed: number; readonly to?: string; readonly pipelines?: string[] },
): Promise<void> {
  const backend = createSeller({ seed, events: 150, days: 50, profile: 'edge-cases' }, clock);
  const seller = await startEmulator({ backend, clock, faults: { 'labels-renamed': {} } });
  const run = { lake, account, endpoint: seller.url, from: '2026-01-28', to };
  try {
    await ran({ ...run, ...(pipelines === undefined ? { api: 'both' } : { pipelines }) }, { clock });
    if (pipelines === undefined) await ran({ ...run, pipelines: ['settlement-reports'] }, { clock });
  } finally {
    await seller.close();
  }
}

/** What a tool has answered: its text, and what the text is. */
export interface Answer {
  readonly isError: boolean;
  readonly text: string;
}

export interface TestClient {
  readonly client: Client;
  readonly call: (tool: string, args?: Record<string, unknown>, options?: CallOptions) => Promise<Answer>;
  /** The rows of a query, which must succeed. */
  readonly rows: (sql: string, limit?: number) => Promise<readonly (readonly unknown[])[]>;
  readonly close: () => Promise<void>;
}

type CallOptions = Parameters<Client['callTool']>[2];

interface ServedOptions {
  readonly accounts?: readonly string[];
  readonly clock?: Clock;
}

/** A client of the SDK that is connected to a server over a lake in this process. */
export async function connect(lake: string, { accounts, clock: own = clock }: ServedOptions = {}): Promise<TestClient> {
  const server = await createLakeServer({ lake, accounts }, { clock: own, emit: () => undefined });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.mcp.connect(ours), client.connect(theirs)]);
  return clientOf(client, () => server.close());
}

/** The same until the test ends. */
export async function connected(lake: string, options?: ServedOptions): Promise<TestClient> {
  const opened = await connect(lake, options);
  onTestFinished(opened.close);
  return opened;
}

/** Calls of a connected client. */
export function clientOf(client: Client, onClose: () => Promise<void>): TestClient {
  const call: TestClient['call'] = async (name, args = {}, options) => {
    const result = (await client.callTool({ name, arguments: args }, undefined, options)) as CallToolResult;
    const [content] = result.content;
    return { isError: result.isError === true, text: content?.type === 'text' ? content.text : '' };
  };
  return {
    client,
    call,
    rows: async (sql, limit = 10_000) => {
      const { isError, text } = await call('query', { sql, limit });
      if (isError) throw new Error(`${sql}: ${text}`);
      return (JSON.parse(text) as { rows: unknown[][] }).rows;
    },
    close: async () => {
      await client.close();
      await onClose();
    },
  };
}
