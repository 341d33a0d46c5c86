import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { zstd } from '../../../src/core/parquet/encoder/zstd.js';
import { builtModule } from '../built-module.js';
import { compressors } from './compressors.js';

const module = await builtModule('src/core/parquet/encoder/zstd.ts');

test('frames hold the bytes they were made of', async () => {
  const { compress, decompress } = await zstd();
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 5000 }), fc.nat(40), (some, times) => {
      // A view into more bytes, as the encoder hands over.
      const all = Uint8Array.from({ length: some.length * (times + 1) + 2 }, (_, at) => some[at % some.length] ?? 0);
      const bytes = all.subarray(1, -1);
      expect(Buffer.compare(compressors.ZSTD(compress(bytes), bytes.length), bytes)).toBe(0);
      expect(Buffer.compare(decompress(compress(bytes)), bytes)).toBe(0);
    }),
    { numRuns: 300 },
  );
});

test('a machine without the addon makes frames too, and reads those of the addon', async () => {
  const content = Buffer.from('three,'.repeat(1_000_000));
  const script =
    `import { zstd } from '${module}'; const { compress, decompress, isFast } = await zstd(); if (isFast) process.exit(1);` +
    `const frame = Buffer.from('${Buffer.from((await zstd()).compress(content)).toString('base64')}', 'base64');` +
    `if (!Buffer.from('three,'.repeat(1_000_000)).equals(decompress(frame, ${content.length}))) process.exit(1);` +
    `process.stdout.write(Buffer.from(compress(Buffer.from('one,two,'.repeat(1000)))).toString('base64'))`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    // The addon's loader looks nowhere else then.
    env: { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: '/dev/null/none.node' },
  });
  const frame = Buffer.from(stdout, 'base64');
  expect(frame.length).toBeLessThan(100);
  expect(Buffer.from(compressors.ZSTD(frame, 8000)).toString()).toBe('one,two,'.repeat(1000));
});
