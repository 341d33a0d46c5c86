import { createHash } from 'node:crypto';

/** A number from 0 up to 1 that looks like chance and is the same for the same seed and words. */
export function draw(seed: number, ...words: readonly (string | number)[]): number {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, ...words]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48;
}
