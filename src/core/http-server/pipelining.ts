import type { Duplex } from 'node:stream';

/**
 * HTTP pipelining: requests that wait for an earlier one of their connection. They are answered in turn, each once the
 * previous answer is sent, and a connection isn't read while one waits, so a client that receives no answers fills only
 * its own buffers. Requests that Node has already parsed, up to 64 kB a connection, are counted over all connections.
 */
export class Pipelining {
  readonly #most: number;
  readonly #connections = new WeakMap<Duplex, PipelinedConnection>();
  #waiting = 0;

  /** @param most maximum number of waiting requests over all connections */
  constructor(most: number) {
    this.#most = most;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Calls `begin` at once, or when the earlier requests are finished; where too many wait, the connection is closed instead. */
  enter(socket: Duplex, begin: () => void): void {
    if (socket.destroyed) return;
    const connection = this.#connections.get(socket) ?? this.#open(socket);
    if (!connection.isBusy) {
      connection.isBusy = true;
      begin();
      return;
    }
    if (this.#waiting >= this.#most) {
      socket.destroy();
      return;
    }
    this.#waiting += 1;
    connection.queue.push(begin);
    socket.pause();
  }

  /** The connection's request is finished: starts the next one. */
  over(socket: Duplex): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    const next = connection.queue.shift();
    if (next === undefined) {
      connection.isBusy = false;
      return;
    }
    this.#waiting -= 1;
    if (connection.queue.length === 0) socket.resume();
    next();
  }

  #open(socket: Duplex): PipelinedConnection {
    const connection: PipelinedConnection = { isBusy: false, queue: [] };
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#waiting -= connection.queue.length;
      connection.queue.length = 0;
      this.#connections.delete(socket);
    });
    // Node resumes a socket by itself, for example after an unread body.
    socket.on('resume', () => {
      if (connection.queue.length > 0) socket.pause();
    });
    return connection;
  }
}

interface PipelinedConnection {
  isBusy: boolean;
  readonly queue: (() => void)[];
}

/** An answer that its client has not received yet. */
interface PendingAnswer {
  bytes: number;
  /** When sending began, by `now`; undefined while the answer is computed. */
  since: number | undefined;
  readonly drop: () => void;
}

interface UndeliveredOptions {
  /** Maximum bytes of pending answers in memory. */
  readonly most: number;
  /** While others wait for memory, an answer that has been sent for longer, in milliseconds, is dropped. */
  readonly graceMs: number;
  /** A monotonic clock, milliseconds. */
  readonly now: () => number;
}

/** Bytes reserved for an answer until its length is known. */
const guess = 64 * 1024;

/** Milliseconds between checks for free memory while answers wait. */
const lookMs = 250;

/** Limits the memory of a server's unsent answers, so that a slow client delays the others only for a short time. */
export class Undelivered {
  readonly #options: UndeliveredOptions;
  readonly #pending = new Set<PendingAnswer>();
  readonly #waiting: (() => void)[] = [];
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UndeliveredOptions) {
    this.#options = options;
  }

  /** Bytes of all pending answers. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Resolves once there is memory for one more answer, in the order of calls. `drop` closes its connection. */
  async enter(drop: () => void): Promise<PendingAnswer> {
    if (this.#waiting.length > 0 || this.#isFull) {
      const turn = new Promise<void>((resolve) => {
        this.#waiting.push(resolve);
      });
      this.#timer ??= setInterval(() => {
        this.#look();
      }, lookMs).unref();
      await turn;
    }
    const answer: PendingAnswer = { bytes: 0, since: undefined, drop };
    this.#pending.add(answer);
    this.#resize(answer, guess);
    return answer;
  }

  /** The answer is complete, and sending begins. */
  ready(answer: PendingAnswer, bytes: number): void {
    answer.since = this.#options.now();
    this.#resize(answer, bytes);
  }

  /** The answer was sent or dropped. Idempotent. */
  leave(answer: PendingAnswer): void {
    if (!this.#pending.delete(answer)) return;
    this.#bytes -= answer.bytes;
    this.#admit();
  }

  get #isFull(): boolean {
    return this.#bytes >= this.#options.most;
  }

  #resize(answer: PendingAnswer, bytes: number): void {
    if (!this.#pending.has(answer)) return;
    this.#bytes += bytes - answer.bytes;
    answer.bytes = bytes;
    this.#admit();
  }

  #admit(): void {
    if (this.#waiting.length > 0 && !this.#isFull) this.#waiting.shift()?.();
    if (this.#waiting.length === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }

  #look(): void {
    const late = this.#options.now() - this.#options.graceMs;
    for (const answer of this.#pending) {
      if (!this.#isFull) break;
      if (answer.since === undefined || answer.since > late) continue;
      answer.drop();
      this.leave(answer);
    }
    this.#admit();
  }
}
