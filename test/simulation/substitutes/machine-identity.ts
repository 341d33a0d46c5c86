import { createHash, type BinaryLike } from 'node:crypto';
import { tmpdir } from 'node:os';
import type { Writer } from '../../../src/lake/store/writer-name.js';
import { currentProcess, currentWorld } from '../world/world.js';

/*
 * Replaces `src/lake/store/writer-name.ts`, `hostname` of `node:os`, and the random numbers of `node:crypto`: processes and machines
 * are those of the simulation.
 */

const running = new Set<number>();

export function begin(pid: number): void {
  running.add(pid);
}

export function end(pid: number): void {
  running.delete(pid);
}

export function endAll(): void {
  running.clear();
}

export function thisWriter(): Promise<Writer> {
  const process = currentProcess();
  const machine = createHash('sha256')
    .update(process?.machine.name ?? 'observer')
    .digest('hex')
    .slice(0, 16);
  return Promise.resolve({ machine, pid: process?.pid ?? 1, start: '7' });
}

export function isRunning({ pid }: Writer): Promise<boolean> {
  return Promise.resolve(running.has(pid));
}

export function temporaryNames(writer: Writer): () => string {
  const store = randomBytes(4).toString('hex');
  let count = 0;
  return () => `${writer.machine}-${writer.pid}-${writer.start}-${store}-${count++}`;
}

export function writerOf(name: string): Writer | undefined {
  const [, machine, pid, start] = /^([0-9a-f]{16})-(\d{1,10})-(\d{1,20})-[0-9a-f]{8}-\d+$/.exec(name) ?? [];
  return machine === undefined || pid === undefined || start === undefined
    ? undefined
    : { machine, pid: Number(pid), start };
}

export function hostname(): string {
  return currentProcess()?.machine.name ?? 'observer';
}

export function randomBytes(length: number): Buffer {
  const { random } = currentWorld();
  return Buffer.from(Array.from({ length }, () => random.below(256)));
}

export function randomUUID(): string {
  const hex = randomBytes(16).toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

export function hash(algorithm: string, data: BinaryLike, encoding?: 'hex'): string;
export function hash(algorithm: string, data: BinaryLike, encoding: 'buffer'): Buffer;
export function hash(
  algorithm: string,
  data: BinaryLike,
  encoding: 'hex' | 'base64' | 'buffer' = 'hex',
): string | Buffer {
  const digest = createHash(algorithm).update(data);
  return encoding === 'buffer' ? digest.digest() : digest.digest(encoding);
}

export { createHash, createHmac, timingSafeEqual } from 'node:crypto';
export { availableParallelism, totalmem, homedir } from 'node:os';
export { tmpdir };
