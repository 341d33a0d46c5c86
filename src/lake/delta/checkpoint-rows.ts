import { isAscii } from 'node:buffer';
import { DataType, MapRow, StructRow, Vector, type Data } from 'apache-arrow';

/** Gives the value in a row, undefined where it is null. */
type Reader = (row: number) => unknown;

/**
 * Reads rows of Arrow data as plain objects: nulls left out, 64-bit integers as numbers, maps as objects; what JSON
 * would have given. Arrow's own row objects cost ten times as much, and a checkpoint has a row for each file and load key.
 */
export function rowReader(data: Data): Reader {
  const value = valueReader(data);
  return data.nullCount === 0 ? value : (row) => (data.getValid(row) ? value(row) : undefined);
}

function valueReader(data: Data): Reader {
  const { children } = data;
  const type: DataType = data.type;
  const values: unknown = data.values;
  const offsets = data.valueOffsets as Int32Array | undefined;
  if (data.offset !== 0) return arrowReader(data);
  if (DataType.isStruct(type))
    return structReader(
      type.children.map(({ name }) => name),
      children.map(rowReader),
    );
  if (DataType.isUtf8(type) && offsets !== undefined) {
    const bytes = values as Uint8Array;
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const encoding = isAscii(buffer) ? 'latin1' : 'utf8';
    return (row) => buffer.toString(encoding, offsets[row], offsets[row + 1]);
  }
  if (DataType.isInt(type)) {
    const numbers = values as Int32Array | BigInt64Array;
    if (!(numbers instanceof BigInt64Array)) return (row) => Number(numbers[row]);
    // By halves, low and high: a bigint for each would be a hundred thousand of them.
    const halves = new Int32Array(numbers.buffer, numbers.byteOffset, numbers.length * 2);
    return (row) => (halves[2 * row + 1] ?? 0) * 2 ** 32 + ((halves[2 * row] ?? 0) >>> 0);
  }
  const [items] = children;
  if (items === undefined || offsets === undefined) return arrowReader(data);
  const range = (row: number) => ({ from: offsets[row] ?? 0, to: offsets[row + 1] ?? 0 });
  if (DataType.isMap(type)) {
    const [keys, of] = items.children.map(rowReader);
    if (keys === undefined || of === undefined) return arrowReader(data);
    return (row) => {
      const { from, to } = range(row);
      const entries: [string, unknown][] = [];
      for (let at = from; at < to; at++) {
        const found = of(at);
        if (found !== undefined) entries.push([String(keys(at)), found]);
      }
      // Not by assignment: a key may be `__proto__`.
      return Object.fromEntries(entries);
    };
  }
  if (DataType.isList(type)) {
    const item = rowReader(items);
    return (row) => {
      const { from, to } = range(row);
      return Array.from({ length: to - from }, (_, at) => item(from + at));
    };
  }
  return arrowReader(data);
}

function structReader(names: readonly string[], readers: readonly Reader[]): Reader {
  return (row) => {
    const fields: Record<string, unknown> = {};
    for (let at = 0; at < names.length; at++) {
      const value = readers[at]?.(row);
      if (value !== undefined) fields[names[at] ?? ''] = value;
    }
    return fields;
  };
}

/** For types that checkpoints of ours don't have. */
function arrowReader(data: Data): Reader {
  const vector = new Vector([data]);
  return (row) => plain(vector.get(row));
}

function plain(value: unknown): unknown {
  if (value === null || value === undefined) return undefined;
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Vector) return Array.from(value as Iterable<unknown>, plain);
  if (value instanceof StructRow || value instanceof MapRow) {
    const entries = [...(value as Iterable<[string, unknown]>)].map(([key, of]) => [key, plain(of)]);
    return Object.fromEntries(entries.filter(([, of]) => of !== undefined)) as unknown;
  }
  return value;
}
