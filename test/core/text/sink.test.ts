import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { formats, isFormat, writeRows } from '../../../src/core/text/formats.js';
import { writeText } from '../../../src/core/text/sink.js';
import { chunked, Kept } from './streams.js';

async function* endless(onEnd: () => void): AsyncGenerator<string> {
  try {
    for (;;) yield await Promise.resolve('a line of a result\n'.repeat(500));
  } finally {
    onEnd();
  }
}

test('a reader that closes its end of the pipe ends the writing quietly, and the source with it', async () => {
  const reader = spawn('head', ['-n', '1'], { stdio: ['pipe', 'pipe', 'inherit'] });
  let read = '';
  reader.stdout.on('data', (data: Buffer) => (read += data.toString()));
  let ended = false;
  expect(
    await writeText(
      reader.stdin,
      endless(() => (ended = true)),
    ),
  ).toBe(false);
  expect(ended).toBe(true);
  if (reader.exitCode === null) await once(reader, 'close');
  expect(read).toBe('a line of a result\n');
});

test('an output that was closed before takes nothing, and that is no error', async () => {
  const output = new Kept();
  output.destroy();
  expect(await writeText(output, ['text'])).toBe(false);
});

test('each piece waits until the one before it has been taken', async () => {
  const order: string[] = [];
  const output = new Writable({
    decodeStrings: false,
    write: (chunk: string, _encoding, done) => {
      setImmediate(() => {
        order.push(`took ${chunk}`);
        done();
      });
    },
  });
  await writeText(
    output,
    (function* () {
      for (const piece of ['1', '2']) {
        order.push(`gave ${piece}`);
        yield piece;
      }
    })(),
  );
  expect(order).toEqual(['gave 1', 'took 1', 'gave 2', 'took 2']);
});

test('a disk that is full and a source that fails are errors', async () => {
  const full = new Writable({
    write: (_chunk, _encoding, done) => {
      done(Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    },
  });
  await expect(writeText(full, ['text'])).rejects.toThrow('no space left');
  const output = new Kept();
  const failing = (async function* () {
    yield await Promise.resolve('text');
    throw Object.assign(new Error('of the source'), { code: 'EPIPE' });
  })();
  await expect(writeText(output, failing)).rejects.toThrow('of the source');
  expect(output.listenerCount('error')).toBe(0);
});

test('writeRows writes each format, a table within the terminal', async () => {
  const texts: Record<string, string> = {};
  for (const format of formats) {
    const output = new Kept(20);
    expect(await writeRows(output, format, [{ name: 'x', kind: 'text' }], chunked([['y'.repeat(30)]]))).toBe(true);
    texts[format] = output.text;
  }
  const y = 'y'.repeat(30);
  expect(texts['json']).toBe(`[\n{"x":"${y}"}\n]\n`);
  expect(texts['ndjson']).toBe(`{"x":"${y}"}\n`);
  expect(texts['csv']).toBe(`x\n${y}\n`);
  expect(texts['table']).toContain(`│ ${'y'.repeat(15)}… │\n`);
  expect(isFormat('csv') && !isFormat('xml')).toBe(true);
});
