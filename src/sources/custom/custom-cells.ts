import { digitsOf, type Column } from '../../core/columns/table.js';
import { readInstant } from '../../core/numeric/instant.js';
import { readInteger } from '../../core/numeric/integer.js';
import { readScaled } from '../../core/numeric/scaled.js';
import type { Cell } from './definition.js';
import { JsonNode } from './json-node.js';

/**
 * A value as its column holds it: texts; microseconds since 1970 of instants, days of dates; decimals as whole numbers of
 * their last digit. Undefined is null.
 */
export type Value = string | bigint | number | boolean | undefined;

/** What can't stand in the column: a value of another type, or one that it can't hold exactly. */
export class Unfit {
  readonly why: 'type' | 'size';

  constructor(why: Unfit['why']) {
    this.why = why;
  }
}

const ofAnotherType = new Unfit('type');
const tooLarge = new Unfit('size');
const numberText = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const day = 86_400_000_000n;

/** Reads what a definition gave for a column, exactly or not at all. */
export function readCell(column: Column, cell: Cell): Value | Unfit {
  if (cell === null || cell === undefined || (cell instanceof JsonNode && cell.kind === 'null')) return undefined;
  switch (column.type) {
    case 'text':
      return textOf(cell) ?? ofAnotherType;
    case 'boolean':
      return booleanOf(cell) ?? ofAnotherType;
    case 'instant':
      return instantOf(cell) ?? ofAnotherType;
    case 'date':
      return dateOf(cell) ?? ofAnotherType;
    case 'decimal':
    case 'bigint':
    case 'integer': {
      const text = numberOf(cell);
      return text === undefined ? ofAnotherType : (exact(column, text) ?? tooLarge);
    }
  }
}

function textOf(cell: Cell): string | undefined {
  if (cell instanceof JsonNode) return cell.text;
  return typeof cell === 'string' || typeof cell === 'bigint' || typeof cell === 'boolean' ? String(cell) : undefined;
}

function booleanOf(cell: Cell): boolean | undefined {
  if (typeof cell === 'boolean') return cell;
  return cell instanceof JsonNode && cell.kind === 'boolean' ? cell.text === 'true' : undefined;
}

function instantOf(cell: Cell): bigint | undefined {
  if (cell instanceof Date) return Number.isNaN(cell.getTime()) ? undefined : BigInt(cell.getTime()) * 1000n;
  const text = stringOf(cell);
  return text === undefined ? undefined : readInstant(text);
}

function dateOf(cell: Cell): number | undefined {
  const text = stringOf(cell);
  const micros = text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text) ? undefined : readInstant(text);
  return micros === undefined ? undefined : Number(micros / day);
}

function stringOf(cell: Cell): string | undefined {
  if (typeof cell === 'string') return cell;
  return cell instanceof JsonNode && cell.kind === 'string' ? cell.text : undefined;
}

/** The text of a number. One of JavaScript's own may have lost digits unless it is whole and small enough. */
function numberOf(cell: Cell): string | undefined {
  if (typeof cell === 'bigint' || (typeof cell === 'number' && Number.isSafeInteger(cell))) return String(cell);
  const text =
    typeof cell === 'string' || (cell instanceof JsonNode && cell.kind !== 'boolean') ? textOf(cell) : undefined;
  return text !== undefined && numberText.test(text) ? text : undefined;
}

function exact(column: Column, text: string): bigint | number | undefined {
  if (column.type === 'decimal') {
    const { precision, scale } = digitsOf(column);
    return readScaled(text, precision, scale);
  }
  const value = readInteger(text);
  if (column.type === 'bigint' || value === undefined) return value;
  return value >= -(2n ** 31n) && value < 2n ** 31n ? Number(value) : undefined;
}
