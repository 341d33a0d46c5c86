import { readFile } from 'node:fs/promises';

/** Bytes that this process has read, as Linux counts them; undefined where the system doesn't tell. */
export async function bytesReadSoFar(): Promise<number | undefined> {
  const counts = await readFile('/proc/self/io', 'utf8').catch(() => '');
  const [, bytes] = /^rchar: (\d+)$/m.exec(counts) ?? [];
  return bytes === undefined ? undefined : Number(bytes);
}
