import { readSettings } from './settings.js';
import { messageLog } from '../core/events/message-log.js';
import { systemClock } from '../core/clock.js';
import type { RunEvent } from '../core/events/run-event.js';
import { optionalPackage } from '../core/optional-package.js';
import { checkOptions, type OptionKinds } from './options.js';
import { runTask } from './task.js';

/** The options of `createMcpServer`. */
export interface McpServerOptions {
  /** The lake: a folder, or `s3://BUCKET/PREFIX`; default: the setting, else `data/lake`. */
  readonly lake?: string | undefined;
  /** The accounts that clients see; default: all. */
  readonly accounts?: readonly string[] | undefined;
  /** Configuration file; default: that of `LEDGERLAKE_CONFIG`, else `ledgerlake.config.json` in the working folder if it exists. */
  readonly config?: string | undefined;
  /** Time zone in which months begin and end, an IANA name; default: the setting, else UTC. */
  readonly timeZone?: string | undefined;
  /** The chart of accounts, a CSV file; default: the setting, else the built-in one. */
  readonly chart?: string | undefined;
  /** Unit costs, a CSV file; default: the setting, else none. */
  readonly costs?: string | undefined;
  /** Receives notes as events `message`. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

/** A server of the Model Context Protocol over a lake. */
export interface McpServer {
  /**
   * Answers a client over a transport.
   *
   * @param transport one of `@modelcontextprotocol/sdk`, for one client
   */
  connect(transport: object): Promise<void>;
  /** Stops what is running, and frees the memory. */
  close(): Promise<void>;
}

const kinds: OptionKinds<McpServerOptions> = {
  ...{
    lake: 'text',
    accounts: 'texts',
    config: 'text',
    timeZone: 'text',
    chart: 'text',
    costs: 'text',
    onEvent: 'function',
  },
};

const names = new Map([['account', 'accounts']]);

/**
 * Opens a lake for a client of the Model Context Protocol, as `ledgerlake mcp` does, over a transport of yours. It needs the optional
 * package `@modelcontextprotocol/sdk`.
 *
 * @throws LedgerlakeError USAGE where there is no lake, for an account that it lacks, and without the package; LAKE_STORE or LAKE_LOG
 * where the lake can't be read
 */
export async function createMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  checkOptions('createMcpServer', options, kinds);
  const { lake, accounts, config, timeZone, chart, costs, onEvent } = options;
  const { createLakeServer } = await optionalPackage(
    '@modelcontextprotocol/sdk',
    '`createMcpServer`',
    () => import('../app/mcp/server.js'),
  );
  const settings = await readSettings({ lake, config, 'time-zone': timeZone, chart, costs });
  const served = { ...settings, config, accounts };
  const { mcp, close } = await runTask({ onEvent, names }, ({ emit }) =>
    createLakeServer(served, { clock: systemClock, log: messageLog(emit) }),
  );
  return { connect: (transport) => mcp.connect(transport as Parameters<typeof mcp.connect>[0]), close };
}
