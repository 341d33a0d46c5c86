import type { HttpResponse } from '../../../src/engine/http/transport.js';
import type { HttpAnswer, HttpRequest } from '../../../src/core/http-server/answer.js';
import type { Process, World } from './world.js';

export interface WireRequest {
  readonly method: string;
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What comes back over the wire: an answer, or the error code of a connection without a whole one. */
export type WireAnswer = HttpResponse | { readonly code: string };

export type Answer = (request: HttpRequest) => Promise<HttpAnswer>;

/** Milliseconds after which a silent connection is given up, as the transport has it. */
const silenceMs = 60_000;

/** The services by origin, and how their answers arrive. */
export class Network {
  readonly #world: World;
  readonly #services = new Map<string, Answer>();
  /** Requests that were sent. */
  requests = 0;

  constructor(world: World) {
    this.#world = world;
    networks.set(world, this);
  }

  serve(origin: string, answer: Answer): void {
    this.#services.set(origin, answer);
  }

  async send(process: Process, request: WireRequest, signal: AbortSignal): Promise<WireAnswer> {
    this.requests++;
    const { method, origin, path } = request;
    const answer = this.#services.get(origin);
    if (answer === undefined) return { code: 'ECONNREFUSED' };
    // Names of headers arrive in lower case.
    const headers = { ...lowered(request.headers), host: new URL(origin).host };
    const body = Buffer.from(request.body);
    const sent = await answer({ method, target: path, headers, body: () => Promise.resolve(body), signal });
    this.#world.note(`${process.label} ${method} ${path.slice(0, 200)} ${sent.status} ${sent.delivery}`);
    return this.#delivered(sent);
  }

  async #delivered({ status, headers, body, delivery }: HttpAnswer): Promise<WireAnswer> {
    const bytes = Buffer.from(body);
    const whole = { status, headers: new Map(Object.entries(lowered(headers))), body: bytes };
    switch (delivery) {
      case 'whole':
        return whole;
      case 'reset':
        return { code: 'ECONNRESET' };
      case 'never':
        await this.#silence();
        return { code: 'UND_ERR_HEADERS_TIMEOUT' };
      case 'head-only':
        await this.#silence();
        return { code: 'UND_ERR_BODY_TIMEOUT' };
      case 'cut':
        return { code: 'UND_ERR_SOCKET' };
      case 'too-long':
        return { ...whole, body: bytes.subarray(0, Math.floor(bytes.length / 2)) };
    }
  }

  #silence(): Promise<void> {
    return new Promise((resolve) => {
      this.#world.at(this.#world.now() + silenceMs, resolve);
    });
  }
}

const networks = new WeakMap<World, Network>();

export function networkOf(world: World): Network {
  const network = networks.get(world);
  if (network === undefined) throw new Error('the world has no network');
  return network;
}

function lowered(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
