import { LedgerlakeError } from '../../core/errors.js';
import { scanRepaired } from '../../core/json/repair.js';
import { kind, Tape } from '../../core/json/tape.js';
import { excerpt } from '../../engine/retry/api-refusal.js';
import type { Json } from './record.js';

const kinds = {
  [kind.object]: 'object',
  [kind.array]: 'array',
  [kind.string]: 'string',
  [kind.escaped]: 'string',
  [kind.number]: 'number',
  [kind.true]: 'boolean',
  [kind.false]: 'boolean',
} as const satisfies Readonly<Record<number, Json['kind']>>;

/** A node of a tape, as the interface for definitions. */
export class JsonNode implements Json {
  readonly #tape: Tape;
  readonly #node: number;

  constructor(tape: Tape, node = 0) {
    this.#tape = tape;
    this.#node = node;
  }

  get kind(): Json['kind'] {
    const found: Readonly<Partial<Record<number, Json['kind']>>> = kinds;
    return found[this.#tape.kind(this.#node)] ?? 'null';
  }

  get text(): string | undefined {
    switch (this.kind) {
      case 'string':
        return this.#tape.stringValue(this.#node);
      case 'number':
      case 'boolean':
        return this.raw;
      case 'object':
      case 'array':
      case 'null':
        return undefined;
    }
  }

  /** Whether a text within it was no JSON. */
  get isRepaired(): boolean {
    return this.#tape.isRepaired(this.#node);
  }

  get raw(): string {
    return this.#tape.text(this.#node);
  }

  at(...names: readonly string[]): JsonNode | undefined {
    let node: number | undefined = this.#node;
    for (const name of names) node = node === undefined ? undefined : this.#tape.member(node, name);
    return node === undefined ? undefined : new JsonNode(this.#tape, node);
  }

  list(...names: readonly string[]): readonly JsonNode[] {
    const found = this.at(...names);
    if (found?.kind !== 'array') throw noArray(names, found, this.keys());
    const elements: JsonNode[] = [];
    const end = this.#tape.next(found.#node);
    for (let at = found.#node + 1; at < end; at = this.#tape.next(at)) elements.push(new JsonNode(this.#tape, at));
    return elements;
  }

  keys(): readonly string[] {
    if (this.kind !== 'object') return [];
    return [...new Set([...this.#tape.keys(this.#node)].map((key) => this.#tape.stringValue(key)))];
  }
}

/**
 * Parses JSON, with its texts repaired where they are none.
 *
 * @throws LedgerlakeError JSON_SYNTAX
 */
export function scanned(bytes: Uint8Array): JsonNode {
  const tape = new Tape();
  scanRepaired(bytes, tape);
  return new JsonNode(tape);
}

function noArray(names: readonly string[], found: JsonNode | undefined, keys: readonly string[]): LedgerlakeError {
  const where = names.length === 0 ? '' : ` at ${names.join('.')}`;
  const beside = keys.length === 0 ? '' : ` beside ${keys.slice(0, 10).join(', ')}`;
  const got = found === undefined ? `nothing${beside}` : found.raw;
  return new LedgerlakeError('UPSTREAM_BODY', `expected an array${where}, found ${excerpt(got, 120)}`);
}
