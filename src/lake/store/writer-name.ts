import { shortHash } from '../../core/short-hash.js';
import { randomBytes } from 'node:crypto';
import { readFile, readlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import { systemCode } from '../../core/errors.js';

/** The process that writes a temporary file, so that others can find out whether it is running. */
export interface Writer {
  /** The machine since its last boot, or the container on it: within it a pid identifies one process. */
  readonly machine: string;
  readonly pid: number;
  /** When the process started, in the system's unit; `0` where unknown. */
  readonly start: string;
}

const pattern = /^([0-9a-f]{16})-(\d{1,10})-(\d{1,20})-[0-9a-f]{8}-\d+$/;

/** This process. */
export async function thisWriter(): Promise<Writer> {
  // Containers often have the same host name, and those on one machine the same boot id, with separate pids.
  const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'latin1').catch(() => '');
  const pidNamespace = await readlink('/proc/self/ns/pid').catch(() => '');
  const machine = shortHash(`${hostname()}\0${bootId}\0${pidNamespace}`);
  return { machine, pid: process.pid, start: (await statusOf(process.pid))[1] ?? '0' };
}

/** A generator of names that no other writer, and no other store of this process, generates. */
export function temporaryNames(writer: Writer): () => string {
  const store = randomBytes(4).toString('hex');
  let count = 0;
  return () => `${writer.machine}-${writer.pid}-${writer.start}-${store}-${count++}`;
}

/** The writer of a temporary file; undefined for a file that no store has named. */
export function writerOf(name: string): Writer | undefined {
  const [, machine, pid, start] = pattern.exec(name) ?? [];
  if (machine === undefined || pid === undefined || start === undefined) return undefined;
  return { machine, pid: Number(pid), start };
}

/** Whether a writer on this machine is running: a process with its pid and start time exists. */
export async function isRunning(writer: Writer): Promise<boolean> {
  try {
    process.kill(writer.pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if (systemCode(error) !== 'EPERM') return false;
  }
  const [state, start] = await statusOf(writer.pid);
  // An ended process stays a zombie until its parent waits for it, in a container without init for ever.
  if (state === 'Z') return false;
  return writer.start === '0' || start === undefined || start === writer.start;
}

/**
 * Fields 3 and 22 of Linux's `/proc/PID/stat`: the state and the start time. The name in field 2 may contain anything,
 * so fields are counted after its bracket.
 */
async function statusOf(pid: number): Promise<readonly [state: string | undefined, start: string | undefined]> {
  const status = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => undefined);
  const fields = status?.slice(status.lastIndexOf(')') + 2).split(' ') ?? [];
  return [fields[0], fields[19]];
}
