import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { inflated, inputsOf } from '../../../src/app/import/input-bytes.js';
import { temporaryFolder } from '../lake-run.js';

/** Bytes that don't repeat within a chunk. */
function pattern(length: number): Buffer {
  const words = new Uint32Array(Math.ceil(length / 4));
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at + 1, 0x9e3779b1);
  return Buffer.from(words.buffer, 0, length);
}

async function readBack(bytes: Uint8Array): Promise<Buffer> {
  const folder = await temporaryFolder();
  const path = join(folder, 'pages.ndjson');
  await writeFile(path, bytes);
  const [input] = await inputsOf([path], () => expect.unreachable());
  const read: Buffer[] = [];
  for await (const chunk of inflated(input?.open() ?? expect.unreachable())) {
    // Whoever reads takes its time: the next chunk is on its way already.
    await setImmediate();
    read.push(Buffer.from(chunk));
  }
  return Buffer.concat(read);
}

test.each([0, 1, 2, 1_000_000, 1024 * 1024, 1024 * 1024 + 1, 3_500_000])(
  'the %i bytes of a file come as they are, compressed or not, each chunk valid until the next one',
  async (length) => {
    const bytes = pattern(length);
    expect(Buffer.compare(await readBack(bytes), bytes)).toBe(0);
    expect(Buffer.compare(await readBack(gzipSync(bytes, { level: 0 })), bytes)).toBe(0);
  },
);
