import type { Socket } from 'node:net';

/**
 * Requests that wait behind another one of their connection. They are answered one after the other, each once the answer
 * before it has gone out, and nothing more is read of a connection while one waits: so a client that asks and takes no
 * answers fills its own buffers. What Node has parsed by then, up to 64 kB of requests, is counted over all connections.
 */
export class Pipelining {
  readonly #most: number;
  readonly #connections = new WeakMap<Socket, Connection>();
  #waiting = 0;

  /** `most`: requests that may wait, all connections together. */
  constructor(most: number) {
    this.#most = most;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Calls `begin` at once or when the requests before it are over; a connection that brings too many ends instead. */
  enter(socket: Socket, begin: () => void): void {
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

  /** The connection's request is over: the next one begins. */
  over(socket: Socket): void {
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

  #open(socket: Socket): Connection {
    const connection: Connection = { isBusy: false, queue: [] };
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      this.#waiting -= connection.queue.length;
      connection.queue.length = 0;
      this.#connections.delete(socket);
    });
    // Node resumes a socket by itself, as where the body of a request was passed over.
    socket.on('resume', () => {
      if (connection.queue.length > 0) socket.pause();
    });
    return connection;
  }
}

interface Connection {
  isBusy: boolean;
  readonly queue: (() => void)[];
}

/** An answer that its client has not taken yet: its memory, and how it is given up. */
export interface PendingAnswer {
  bytes: number;
  /** When it began to go out, milliseconds of `now`; undefined: it is being made. */
  since: number | undefined;
  readonly drop: () => void;
}

export interface UndeliveredOptions {
  /** Bytes that pending answers may have in memory. */
  readonly most: number;
  /** While others wait for room, an answer that has been going out for longer, milliseconds, is given up. */
  readonly graceMs: number;
  /** Milliseconds that never go back. */
  readonly now: () => number;
}

/** Bytes that count for an answer until its length is known. */
const guess = 64 * 1024;

/** How often those that wait look for room, milliseconds. */
const lookMs = 250;

/** The room of a server's answers in memory: who is slow to take one holds up nobody else for long. */
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

  /** Resolves once there is room for one more answer, in the order of asking. `drop` gives it up. */
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

  /** The answer is complete, and begins to go out. */
  ready(answer: PendingAnswer, bytes: number): void {
    answer.since = this.#options.now();
    this.#resize(answer, bytes);
  }

  /** It went out, or was given up. More than once is once. */
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
