import { z } from 'zod';

export { z } from 'zod';

/**
 * A strict object. The `error` of a node is what was expected, in words; for an unknown key it is the list of known
 * keys: see `faultLine`.
 */
export function object<S extends z.ZodRawShape>(expected: string, shape: S): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape).join(' ');
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? keys : expected) });
}

export function text(expected: string): z.ZodString {
  return z.string({ error: expected }).min(1, { error: expected });
}
