import { messageOf } from '../../core/errors.js';
import { accessLine, startService, type ServiceOptions } from '../../serve/http/server.js';
import { isLoopbackHost } from '../../core/http-server/host-rule.js';
import type { Ledger } from '../../serve/http/ledger.js';
import { frontPage, healthPage, reportPage, type Health } from '../../serve/http/side-pages.js';
import { untilAborted } from '../../app/context.js';

export interface ServeOptions {
  readonly served: {
    readonly ledger: Ledger;
    /** What the ledger is, for people. */
    readonly name: string;
    /** What `/healthz` reports; throws where it can't answer. */
    readonly checkHealth: () => Promise<Health>;
    /** A page of HTML about all that is served; left out: there is none. */
    readonly report?: () => Promise<string>;
    /** What is behind an error of the ledger; left out: the error itself. */
    readonly explainFault?: (error: unknown) => Promise<unknown>;
  };
  readonly service: Omit<ServiceOptions, 'ledger' | 'sidePages' | 'onFault' | 'onAccess'>;
  /** Ends the service when it aborts. */
  readonly signal: AbortSignal;
  /** Takes each line of standard output, without its line end. */
  readonly print: (line: string) => void;
  /** Takes a line for each request, and what people should know. */
  readonly log: (line: string) => void;
}

/**
 * Serves until the signal aborts, then finishes the requests that are running and resolves. The first line printed is
 * `listening on http://HOST:PORT`, once requests are taken. Throws a USAGE error when it can't listen there.
 */
export async function serve({ served, service, signal, print, log }: ServeOptions): Promise<void> {
  if (signal.aborted) return;
  const { host = '127.0.0.1', allowedHosts, clock } = service;
  const failed = (what: string, fault: unknown) => {
    log(`${what} failed: ${messageOf(fault).replaceAll(/\s*\n\s*/g, ' ')}`);
  };
  const { name, report, checkHealth, explainFault } = served;
  // A browser has no access token to show.
  const isOpen = service.signIn === undefined;
  const mainPage =
    report !== undefined && isOpen
      ? reportPage(report, name, (fault) => {
          failed('the report', fault);
        })
      : frontPage(name);
  let logged: Promise<unknown> = Promise.resolve();
  const running = await startService({
    ...service,
    ledger: served.ledger,
    // Who opens the service up may have a name for it that nobody here knows.
    allowedHosts: allowedHosts ?? (isLoopbackHost(host) ? [] : undefined),
    sidePages: new Map([
      ['/', mainPage],
      [
        '/healthz',
        healthPage(checkHealth, (fault) => {
          failed('/healthz', fault);
        }),
      ],
    ]),
    onAccess: (access) => {
      log(accessLine(access, clock.now()));
    },
    onFault: (fault, requestId) => {
      const what = `request ${requestId}`;
      if (explainFault === undefined) failed(what, fault);
      else {
        logged = logged.then(async () => {
          failed(what, await explainFault(fault).catch(() => fault));
        });
      }
    },
  });
  try {
    print(`listening on ${running.url}`);
    if (!isLoopbackHost(host) && isOpen) log(openWarning(host));
    await untilAborted(signal);
  } finally {
    await running.close();
    await logged;
  }
}

function openWarning(host: string): string {
  return (
    `everybody who reaches ${host} can read everything, because there is no sign-in; set LEDGERLAKE_SERVE_CLIENT_ID and ` +
    'LEDGERLAKE_SERVE_CLIENT_SECRET, or leave out --host to listen on loopback'
  );
}
