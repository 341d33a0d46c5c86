import { createHash, randomBytes } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { systemCode } from '../../core/errors.js';

/** Who writes a temporary file, so that others can distinguish a dead writer's from a living one's. */
export interface Writer {
  /** The machine since its last start, or the container on it: within it a pid means one process. */
  readonly host: string;
  readonly pid: number;
  /** When the process started, as the system counts it; `0` where the system doesn't say. */
  readonly start: string;
}

const pattern = /^([0-9a-f]{16})-(\d{1,10})-(\d{1,20})-[0-9a-f]{8}-\d+$/;

/** This process. */
export async function thisWriter(): Promise<Writer> {
  const host = createHash('sha256')
    .update(`${hostname()}\0${await bootId()}\0${await pidNamespace()}`)
    .digest('hex')
    .slice(0, 16);
  return { host, pid: process.pid, start: (await statusOf(process.pid))[1] ?? '0' };
}

/** Names that no other writer, and no other store of this one, gives. */
export function temporaryNames(writer: Writer): () => string {
  const store = randomBytes(4).toString('hex');
  let count = 0;
  return () => `${writer.host}-${writer.pid}-${writer.start}-${store}-${count++}`;
}

/** Who gave a temporary file its name, or undefined for a file that no store named. */
export function writerOf(name: string): Writer | undefined {
  const [, host, pid, start] = pattern.exec(name) ?? [];
  if (host === undefined || pid === undefined || start === undefined) return undefined;
  return { host, pid: Number(pid), start };
}

/** Whether a writer on this host is still there: its pid is taken, and by the process that started when it did. */
export async function isAlive(writer: Writer): Promise<boolean> {
  try {
    process.kill(writer.pid, 0);
  } catch (error) {
    // EPERM: there is such a process, and it is another user's.
    if (systemCode(error) !== 'EPERM') return false;
  }
  const [state, start] = await statusOf(writer.pid);
  // What has ended stays a zombie until somebody waits for it, in a container without init for good.
  if (state === 'Z') return false;
  return writer.start === '0' || start === undefined || start === writer.start;
}

/**
 * Fields 3 and 22 of Linux's process status: the state, and when the process began. The name in field 2 may hold anything, so
 * counting begins behind its bracket.
 */
async function statusOf(pid: number): Promise<readonly [state: string | undefined, start: string | undefined]> {
  const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  const fields = status?.slice(status.lastIndexOf(')') + 2).split(' ') ?? [];
  return [fields[0], fields[19]];
}

/** Hosts of one name are told apart by it, as containers often share theirs. Empty where the system has none. */
function bootId(): Promise<string> {
  return readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '');
}

/** Two containers on one machine count their processes on their own. Empty where the system has none. */
function pidNamespace(): Promise<string> {
  return readlink('/proc/self/ns/pid').catch(() => '');
}
