import type { Emit } from '../../core/events/run-event.js';
import { messageOf } from '../../core/errors.js';
import { accessLine, startApiServer, type ApiServerOptions } from '../../serve/http/server.js';
import { isLoopbackHost } from '../../core/http-server/host-rule.js';
import type { Backend } from '../../serve/served-apis.js';
import { frontPage, healthPage, reportPage, type Health } from '../../serve/http/side-pages.js';
import { untilAborted } from '../../app/context.js';

export interface ServeOptions {
  readonly served: {
    readonly backend: Backend;
    /** Description of the backend for the pages of the server. */
    readonly name: string;
    /** The contents of `/healthz`; throws where the backend can't be read. */
    readonly checkHealth: () => Promise<Health>;
    /** The HTML report of the backend; undefined: none. */
    readonly report?: () => Promise<string>;
    /** The cause of an error of the backend; undefined: the error itself. */
    readonly explainFault?: (error: unknown) => Promise<unknown>;
  };
  readonly server: Omit<ApiServerOptions, 'backend' | 'sidePages' | 'onFault' | 'onAccess'>;
  /** Ends the server when it aborts. */
  readonly signal: AbortSignal;
  /** Receives each line of standard output, without its line end. */
  readonly print: (line: string) => void;
  /** Receives a line for each request, and warnings. */
  readonly emit: Emit;
}

/**
 * Serves until the signal aborts, then completes the running requests and resolves. The first printed line is
 * `listening on http://HOST:PORT`, once the server accepts requests. Throws a USAGE error where it can't listen there.
 */
export async function serve({ served, server, signal, print, emit }: ServeOptions): Promise<void> {
  if (signal.aborted) return;
  const { host = '127.0.0.1', allowedHosts, clock } = server;
  const isOpen = server.signIn === undefined;
  const faultLog = new FaultLog(emit, served.explainFault);
  const running = await startApiServer({
    ...server,
    backend: served.backend,
    // On another address than loopback clients may use a host name that this machine doesn't know.
    allowedHosts: allowedHosts ?? (isLoopbackHost(host) ? [] : undefined),
    sidePages: sidePagesOf(served, isOpen, faultLog),
    onAccess: (access) => {
      emit({ event: 'message', message: accessLine(access, clock.now()) });
    },
    onFault: (fault, requestId) => {
      faultLog.explain(`request ${requestId}`, fault);
    },
  });
  try {
    print(`listening on ${running.url}`);
    if (!isLoopbackHost(host) && isOpen) emit({ event: 'message', message: openWarning(host) });
    await untilAborted(signal);
  } finally {
    await running.close();
    await faultLog.end();
  }
}

/** The pages `/` and `/healthz`. A browser has no access token, so only an open server shows the report. */
function sidePagesOf({ name, report, checkHealth }: ServeOptions['served'], isOpen: boolean, faultLog: FaultLog) {
  const logged = (what: string) => (fault: unknown) => {
    faultLog.write(what, fault);
  };
  const hasReport = report !== undefined && isOpen;
  return new Map([
    ['/', hasReport ? reportPage(report, name, logged('the report')) : frontPage(name)],
    ['/healthz', healthPage(checkHealth, logged('/healthz'))],
  ]);
}

/** Logs internal errors of the server, one line each. */
class FaultLog {
  readonly #emit: Emit;
  readonly #explainFault: ServeOptions['served']['explainFault'];
  #explained: Promise<void> = Promise.resolve();

  constructor(emit: Emit, explainFault: ServeOptions['served']['explainFault']) {
    this.#emit = emit;
    this.#explainFault = explainFault;
  }

  write(what: string, fault: unknown): void {
    this.#emit({ event: 'message', message: `${what} failed: ${messageOf(fault).replaceAll(/\s*\n\s*/g, ' ')}` });
  }

  /** Logs the cause of an error of the backend, in order of occurrence. */
  explain(what: string, fault: unknown): void {
    const explainFault = this.#explainFault;
    if (explainFault === undefined) {
      this.write(what, fault);
      return;
    }
    this.#explained = this.#explained.then(async () => {
      this.write(what, await explainFault(fault).catch(() => fault));
    });
  }

  /** Resolves once all is logged. */
  end(): Promise<void> {
    return this.#explained;
  }
}

function openWarning(host: string): string {
  return (
    `everybody who reaches ${host} can read everything, because there is no sign-in; set LEDGERLAKE_SERVE_CLIENT_ID and ` +
    'LEDGERLAKE_SERVE_CLIENT_SECRET, or leave out --host to listen on loopback'
  );
}
