import { z } from 'zod';

/** A node's `error` is what was expected there, in words; an object's for an unknown key is the keys that it has: see `faultLine`. */
export function object<S extends z.ZodRawShape>(expected: string, shape: S): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape).join(' ');
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? keys : expected) });
}

export function text(expected: string): z.ZodString {
  return z.string({ error: expected }).min(1, { error: expected });
}
