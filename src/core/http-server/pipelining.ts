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
