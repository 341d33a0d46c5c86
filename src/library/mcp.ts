import { readCallSettings } from './settings.js';
import { optionalPackage } from '../core/optional-package.js';
import {
  callKinds,
  checkOptions,
  texts,
  viewKinds,
  type CallOptions,
  type OptionsOf,
  type ViewOptions,
} from './options.js';
import { runTask } from './task.js';

const serverKinds = {
  lake: callKinds.lake,
  /** The accounts that clients see; default: all. */
  accounts: texts(),
  config: callKinds.config,
  onEvent: callKinds.onEvent,
  ...viewKinds,
};

/** The options of `createMcpServer`. */
export interface McpServerOptions extends Omit<CallOptions, 'signal'>, ViewOptions, OptionsOf<typeof serverKinds> {}

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

const names = new Map([['account', 'accounts']]);

/**
 * Opens a lake for a client of the Model Context Protocol, as `ledgerlake mcp` does, over a transport of yours. It needs the optional
 * package `@modelcontextprotocol/sdk`.
 *
 * @throws LedgerlakeError USAGE where there is no lake, for an account that it lacks, and without the package; LAKE_STORE or LAKE_LOG
 * where the lake can't be read
 */
export async function createMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  checkOptions('createMcpServer', options, serverKinds);
  const { accounts, config, onEvent } = options;
  const { createLakeServer } = await optionalPackage(
    '@modelcontextprotocol/sdk',
    '`createMcpServer`',
    () => import('../app/mcp/server.js'),
  );
  const settings = await readCallSettings(options);
  const served = { ...settings, config, accounts };
  const { mcp, close } = await runTask({ onEvent, names }, (context) => createLakeServer(served, context));
  return { connect: (transport) => mcp.connect(transport as Parameters<typeof mcp.connect>[0]), close };
}
