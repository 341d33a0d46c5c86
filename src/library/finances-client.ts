import { systemClock } from '../core/clock.js';
import { LedgerlakeError } from '../core/errors.js';
import { accountKinds, callKinds, checkOptions, type AccountOptions, type OptionsOf } from './options.js';
import type { FinancesOperation } from '../sources/finances/api-names.js';
import type { FinancesPage, FinancesParameters, FinancesResult } from './finances-page.js';
import { namingOptions, startTask } from './task.js';

const readKinds = {
  /** Stops reading: the next page throws STOPPED. */
  signal: callKinds.signal,
};

/**
 * The options of `pages` and `results`.
 *
 * @interface
 */
export type ReadOptions = OptionsOf<typeof readKinds>;

/**
 * Reads the Finances APIs as pipelines do: paced by the quota of each operation, with retries, with smaller pages where one is too large,
 * and with cursor recovery after an expired token. Each client has a separate quota, so use one client for each account.
 */
export interface FinancesClient {
  /** The account that it reads. */
  readonly account: string;
  /**
   * The pages of a query in order, also empty ones. Each is requested when it is read.
   *
   * @throws LedgerlakeError USAGE for an unknown parameter; while reading UPSTREAM_STATUS, UPSTREAM_UNREACHABLE, UPSTREAM_BODY,
   * SIGN_IN_REFUSED or SIGN_IN_UNREACHABLE after the last attempt, or STOPPED
   */
  pages(
    operation: FinancesOperation,
    parameters?: FinancesParameters,
    options?: ReadOptions,
  ): AsyncIterable<FinancesPage>;
  /** The results of the same pages, one after the other. */
  results(
    operation: FinancesOperation,
    parameters?: FinancesParameters,
    options?: ReadOptions,
  ): AsyncIterable<FinancesResult>;
  /** Closes the connections, and stops reading. */
  close(): Promise<void>;
}

/**
 * Connects to the services of an account with the settings of a run; without an endpoint, to the embedded service.
 *
 * @throws LedgerlakeError USAGE for invalid options, environment variables or configuration
 */
export async function createFinancesClient(options: AccountOptions = {}): Promise<FinancesClient> {
  checkOptions('createFinancesClient', options, accountKinds);
  const [{ connectFinances }, { financesQuery }, { readOptions }] = await Promise.all([
    import('../sources/finances/connect-finances.js'),
    import('./finances-queries.js'),
    import('./read-options.js'),
  ]);
  const { account, endpoint, rate, burst, signIn, tokenLifeMinutes, startEmbedded } = await namingOptions(() =>
    readOptions(options),
  );
  const closing = new AbortController();
  const client = startTask({ outer: closing.signal, onEvent: options.onEvent });
  const embedded = endpoint === undefined ? await startEmbedded(systemClock) : undefined;
  const connection = connectFinances({
    clock: systemClock,
    random: Math.random,
    emit: client.emit,
    cursorLifeMs: tokenLifeMinutes * 60_000,
    ...(embedded === undefined
      ? { endpoint: endpoint ?? '', quota: { rate, burst }, signIn }
      : { endpoint: embedded.url, quota: undefined }),
  });

  const pages: FinancesClient['pages'] = (operation, parameters = {}, given = {}) => {
    checkOptions(operation, given, readKinds);
    const query = financesQuery(operation, parameters);
    const slice = Object.entries(parameters)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(' ');
    return read();

    async function* read(): AsyncGenerator<FinancesPage> {
      const task = startTask({ outer: client.signal, signal: given.signal });
      try {
        task.signal.throwIfAborted();
        yield* query(connection, {
          upstream: connection.upstream,
          account,
          counts: { requests: 0, retries: 0, throttled: 0, pages: 0 },
          priority: 0,
          signal: task.signal,
          committed: () => undefined,
          emit: (event) => {
            client.emit({ pipeline: operation, slice, ...event });
          },
        });
      } finally {
        task.end();
        client.check();
      }
    }
  };
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing.abort(new LedgerlakeError('STOPPED', 'the client was closed'));
    await connection.close();
    await embedded?.close();
  };
  return {
    account,
    pages,
    results: (operation, parameters, given) => resultsOf(pages(operation, parameters, given)),
    close: () => (closed ??= close()),
  };
}

async function* resultsOf(pages: AsyncIterable<FinancesPage>): AsyncGenerator<FinancesResult> {
  for await (const { results } of pages) yield* results;
}
