import { usageError } from '../../core/errors.js';
import { unknownName } from '../../core/text/fault-line.js';

/** An argument of a tool. */
export interface ArgumentDefinition {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
  readonly isRequired?: true;
  /** Of an integer. */
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
  /** The values that a text may have; left out: any. */
  readonly choices?: readonly string[];
}

/** The arguments of a call, by name: those that the tool defines, with values of their types. */
export type Arguments = Readonly<Record<string, string | number | boolean | undefined>>;

/** A call of a tool. */
export interface ToolCall {
  readonly args: Arguments;
  /** Aborts when the client cancels the call, or the server stops. */
  readonly signal: AbortSignal;
  /** Receives lines of progress. */
  readonly progress: (line: string) => void;
}

/** A tool that a client may call. Its result is a JSON object. */
export interface Tool {
  readonly description: string;
  readonly args: Readonly<Record<string, ArgumentDefinition>>;
  /** @throws LedgerlakeError */
  readonly run: (call: ToolCall) => Promise<object>;
}

/** The JSON Schema of a tool's arguments. */
export function inputSchema({ args }: Tool) {
  const properties = Object.entries(args).map(
    ([name, { type, description, minimum, maximum, default: value, choices }]) => {
      const all = { type, description, minimum, maximum, default: value, enum: choices };
      return [name, Object.fromEntries(Object.entries(all).filter(([, part]) => part !== undefined))] as const;
    },
  );
  const required = Object.entries(args).flatMap(([name, { isRequired }]) => (isRequired === true ? [name] : []));
  return { type: 'object', properties: Object.fromEntries(properties), required, additionalProperties: false } as const;
}

/**
 * Checks the arguments of a call, and adds the defaults.
 *
 * @throws LedgerlakeError USAGE for a missing one, an unknown one, and one of another type
 */
export function readArguments(tool: string, { args }: Tool, given: Readonly<Record<string, unknown>>): Arguments {
  const unknown = Object.keys(given).find((name) => args[name] === undefined);
  if (unknown !== undefined) throw unknownName(`an argument of ${tool}`, unknown, Object.keys(args));
  return Object.fromEntries(
    Object.entries(args).map(([name, argument]) => [name, readArgument(name, argument, given[name])]),
  );
}

function readArgument(
  name: string,
  definition: ArgumentDefinition,
  value: unknown,
): string | number | boolean | undefined {
  const { type, isRequired, minimum = -Infinity, maximum = Infinity, choices, default: fallback } = definition;
  // Some clients send null for what is left out.
  if (value === undefined || value === null) {
    if (isRequired === true) throw usageError(`expected the argument ${name}, got none`);
    return fallback;
  }
  const got = `got ${JSON.stringify(value).slice(0, 100)}`;
  switch (type) {
    case 'string':
      if (typeof value !== 'string' || value.trim() === '') throw usageError(`expected ${name} to be a text, ${got}`);
      if (choices?.includes(value) === false) throw unknownName(name, value, choices);
      return value;
    case 'integer':
      if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value;
      throw usageError(`expected ${name} to be a whole number from ${minimum} to ${maximum}, ${got}`);
    case 'boolean':
      if (typeof value === 'boolean') return value;
      throw usageError(`expected ${name} to be true or false, ${got}`);
  }
}

/** The text of an argument; undefined where it was left out. */
export function toolText(args: Arguments, name: string): string | undefined {
  const value = args[name];
  return typeof value === 'string' ? value : undefined;
}
