import { z } from 'zod';

/**
 * A strict object. The `error` of a node is what was expected, in words; for an unknown key it is the list of known
 * keys: see `faultLine`.
 */
export function object<S extends z.ZodRawShape>(expected: string, shape: S): z.ZodObject<S, z.core.$strict> {
  const keys = Object.keys(shape).join(' ');
  return z.strictObject(shape, { error: ({ code }) => (code === 'unrecognized_keys' ? keys : expected) });
}

export function textNode(expected: string): z.ZodString {
  return z.string({ error: expected }).min(1, { error: expected });
}

/** What a value's schema is built with. Their package loads slowly, so they are passed to forms of values. */
export const schemaNodes = {
  array: z.array,
  boolean: z.boolean,
  enum: z.enum,
  number: z.number,
  string: z.string,
  object,
  text: textNode,
};

export type SchemaNodes = typeof schemaNodes;
