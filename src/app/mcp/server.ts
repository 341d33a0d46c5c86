import { setImmediate } from 'node:timers/promises';
import type { Readable, Writable } from 'node:stream';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js';
import concepts from '../../../docs/concepts.md';
import { codeOf, messageOf } from '../../core/errors.js';
import { version } from '../../core/version.js';
import { withCommandsIn } from '../command-text.js';
import { untilAborted } from '../context.js';
import { viewComment, views } from '../query/views.js';
import { LakeSession, type McpLake, type SessionContext } from './lake-session.js';
import { inputSchema, readArguments, type Tool } from './tool.js';
import { lakeTools } from './tools.js';

const instructions =
  "A seller's financial events from the Amazon Selling Partner API, exact to the cent. Read the tools `views` and `tables` before you " +
  "write SQL, and prefer a view. In `entries` and `transaction_entries`, only rows with role = 'net' add up. Never add amounts of " +
  'different currencies: group by currency. Instants are UTC. The resource ledgerlake://glossary defines the words.';

/** A server over a lake. */
export interface LakeServer {
  /** Answers over the SDK's transports. */
  readonly mcp: McpServer;
  /** Resolves once no call is running. */
  readonly idle: () => Promise<void>;
  /** Stops what is running, and closes the lake. */
  readonly close: () => Promise<void>;
}

/**
 * Opens a server of the Model Context Protocol over a lake: tools that read it, and resources with its words.
 *
 * @throws LedgerlakeError as `LakeSession.open`
 */
export async function createLakeServer(served: McpLake, context: SessionContext): Promise<LakeServer> {
  const session = await LakeSession.open(served, context);
  const tools = lakeTools(session);
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  const mcp = new McpServer({ name: 'ledgerlake', version }, { instructions });
  addResources(mcp);

  const { server } = mcp;
  server.registerCapabilities({ tools: {} });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.entries(tools).map(([name, tool]) => ({
      name,
      description: tool.description,
      inputSchema: inputSchema(tool),
      annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
    })),
  }));
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal, sendNotification }) => {
    const { name, arguments: given = {}, _meta: meta } = params;
    const tool = tools[name];
    if (tool === undefined) {
      throw new McpError(ErrorCode.InvalidParams, `expected a tool (${Object.keys(tools).join(', ')}), got ${name}`);
    }
    let steps = 0;
    const progress = (message: string): void => {
      context.emit({ event: 'message', message });
      const progressToken = meta?.progressToken;
      if (progressToken === undefined) return;
      const params = { progressToken, progress: ++steps, message };
      // A client that is gone needs none.
      sendNotification({ method: 'notifications/progress', params }).catch(() => undefined);
    };
    const call = callTool(name, tool, given, { signal: AbortSignal.any([signal, closing.signal]), progress }, served);
    running.add(call);
    return call.finally(() => running.delete(call));
  });
  return {
    mcp,
    idle: async () => {
      await Promise.allSettled(running);
      // The SDK sends an answer behind the call.
      await setImmediate();
    },
    close: async () => {
      closing.abort();
      await mcp.close();
      await session.close();
    },
  };
}

/** Runs a tool. An error is its result, in the words of the command line. */
async function callTool(
  name: string,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  call: Omit<Parameters<Tool['run']>[0], 'args'>,
  { lake, config }: McpLake,
): Promise<CallToolResult> {
  try {
    const result = await tool.run({ ...call, args: readArguments(name, tool, given) });
    return { content: [{ type: 'text', text: JSON.stringify(result) }] };
  } catch (error) {
    const text = `${codeOf(error)}: ${withCommandsIn({ lake, config }, messageOf(error))}`;
    return { content: [{ type: 'text', text }], isError: true };
  }
}

function addResources(mcp: McpServer): void {
  const resources = [
    {
      name: 'glossary',
      uri: 'ledgerlake://glossary',
      text: concepts,
      mimeType: 'text/markdown',
      description: 'What events, entries, roles, settlements and dates are',
    },
    ...[...views].map(([view, text]) => ({
      name: view,
      uri: `ledgerlake://views/${view}`,
      text: viewComment(text),
      mimeType: 'text/plain',
      description: `The rows and columns of the view ${view}`,
    })),
  ];
  for (const { name, uri, text, mimeType, description } of resources) {
    mcp.registerResource(name, uri, { description, mimeType }, () => ({ contents: [{ uri, mimeType, text }] }));
  }
}

/**
 * `ledgerlake mcp`: serves a lake over streams until the input ends or the signal aborts. What was asked before the input's end is
 * answered.
 *
 * @throws LedgerlakeError as `createLakeServer`
 */
export async function serveMcp(
  served: McpLake,
  { signal, ...context }: SessionContext & { readonly signal: AbortSignal },
  { input, output }: { readonly input: Readable; readonly output: Writable },
): Promise<void> {
  const server = await createLakeServer(served, context);
  try {
    const ended = new Promise<void>((resolve) => {
      for (const event of ['end', 'close', 'error']) input.once(event, resolve);
      server.mcp.server.onclose = resolve;
    });
    server.mcp.server.onerror = (error) => {
      context.emit({ event: 'message', message: `WARNING: ${messageOf(error)}` });
    };
    await server.mcp.connect(new StdioServerTransport(input, output));
    context.emit({ event: 'message', message: `serving ${served.lake} over standard input and output` });
    await Promise.race([ended.then(() => server.idle()), untilAborted(signal)]);
  } finally {
    await server.close();
  }
}
