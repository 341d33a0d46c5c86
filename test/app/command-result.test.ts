import { expect, test } from 'vitest';
import { CommandError, underLease, withKnown } from '../../src/app/command-result.js';

const result = { text: 'two files', summary: { files: 2 } };
const dead = { release: () => Promise.reject(new Error('the disk is full')) };

test('a lease that is not released fails a command, and leaves it its result', async () => {
  const failed = underLease(dead, () => Promise.resolve(result));
  await expect(failed).rejects.toMatchObject({ ...result, message: 'the disk is full' });
});

test('a command that fails says why it did, also where its lease is not released', async () => {
  const failed = underLease(dead, () => Promise.reject(new CommandError('no rows', result)));
  await expect(failed).rejects.toMatchObject({ ...result, cause: 'no rows' });
});

test('what is known of a command is in its failure, unless that has more', async () => {
  const known = () => ({ lake: 'data/lake' });
  const cause = new Error('no lake');
  await expect(withKnown(Promise.reject(cause), known)).rejects.toMatchObject({
    cause,
    summary: known(),
    text: undefined,
  });
  const more = new CommandError(cause, result);
  await expect(withKnown(Promise.reject(more), known)).rejects.toBe(more);
});
