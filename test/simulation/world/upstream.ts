import { createAnswers } from '../../../src/serve/http/answers.js';
import type { FaultRequest, RequestFaults } from '../../../src/serve/http/fault-injection.js';
import { faultInjection } from '../../../src/emulator/emulator.js';
import type { FaultKind, Faults } from '../../../src/emulator/faults/fault-settings.js';
import type { HttpAnswer } from '../../../src/core/http-server/answer.js';
import type { Network } from './network.js';
import type { Window } from '../../../src/core/windows.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { allItems, notingBackend, playedBackend, type PlayedBackend, type SellerTraits } from './played-backend.js';
import { currentProcess, serviceClock, type Process, type World } from './world.js';

export interface UpstreamTraits extends SellerTraits {
  readonly account: string;
  readonly latencyMs: { readonly least: number; readonly most: number };
  /** Faults of the service as a whole, at all times. */
  readonly faults: Faults;
  /** Faults of single requests, while `hits` says so. */
  readonly passing: Faults;
  readonly tokenLifeMs: number | undefined;
}

/** A request as the service has answered it. */
export interface Served {
  readonly process: Process | undefined;
  readonly account: string;
  readonly at: number;
  readonly operation: FaultRequest['operation'];
  readonly target: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly answer: HttpAnswer;
  /** Kinds of faults that have hit it. */
  readonly hits: readonly string[];
}

export interface Upstream extends Pick<UpstreamTraits, 'account' | 'latencyMs'> {
  readonly origin: string;
  readonly backend: PlayedBackend;
  /** All that the service would answer for a range of events at an instant, with its faults. */
  texts(range: Window, asOf: number): Promise<string[]>;
}

export const quota = { rate: 0.5, burst: 10 };
export const signIn = { clientId: 'client', clientSecret: 'its secret' };

/** Serves a seller's backend on the network, with the faults of the live service. */
export function serveUpstream(
  world: World,
  network: Network,
  traits: UpstreamTraits,
  { hits, served }: { readonly hits: (kind: FaultKind) => boolean; readonly served: (request: Served) => void },
): Upstream {
  const clock = serviceClock(world);
  const { account } = traits;
  const backend = playedBackend(traits, clock);
  const origin = `http://${account}.test`;
  const passing = Object.entries(traits.passing).map(([kind, settings]) => {
    const when = (): boolean => hits(kind as FaultKind);
    return [kind, { ...settings, when }] as const;
  });
  const inject = faultInjection({ ...traits.faults, ...Object.fromEntries(passing) });
  let answered: Backend = backend;
  const answer = createAnswers({
    backend,
    clock,
    quota,
    signIn,
    latencyMs: traits.latencyMs,
    seed: traits.seed,
    tokenLifeMs: traits.tokenLifeMs,
    injectFaults: (server) => {
      let current: string[] = [];
      const hit = (kind: string): void => {
        current.push(kind);
        server.hit(kind);
      };
      const faults = inject({ ...server, hit });
      answered = faults.backend;
      return {
        ...faults,
        backend: notingBackend(faults.backend, backend.answers),
        request: (request, identity) => {
          const hits: string[] = [];
          const noting = <T>(step: () => T): T => {
            current = hits;
            return step();
          };
          const given = faults.request(request, identity);
          const process = currentProcess();
          const at = world.now();
          return watched(given, noting, (sent) => {
            const { target } = identity;
            const { operation, parameters } = request;
            served({ process, account, at, operation, target, parameters, answer: sent, hits });
          });
        },
      };
    },
    onFault: (fault) => {
      world.fail(fault);
    },
  });
  network.serve(origin, answer);
  const texts = async (range: Window, asOf: number) =>
    (await allItems((query) => answered.events(range, query), asOf)).map(({ json }) => json);
  return { account, latencyMs: traits.latencyMs, origin, backend, texts };
}

/** The faults of a request, with each step noted. */
function watched(
  given: RequestFaults,
  noting: <T>(step: () => T) => T,
  finished: (answer: HttpAnswer) => void,
): RequestFaults {
  return {
    throttled: () => noting(() => given.throttled()),
    rate: () => noting(() => given.rate()),
    replacement: () => noting(() => given.replacement()),
    isTokenSufficient: () => noting(() => given.isTokenSufficient()),
    check: (request) => {
      noting(() => {
        given.check(request);
      });
    },
    page: (request, page) => noting(() => given.page(request, page)),
    checkBody: (body) => {
      noting(() => {
        given.checkBody(body);
      });
    },
    finish: (answer) => {
      const sent = noting(() => given.finish(answer));
      finished(sent);
      return sent;
    },
  };
}
