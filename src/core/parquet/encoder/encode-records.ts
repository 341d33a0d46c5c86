import { ByteBuffer } from './byte-buffer.js';
import { FileWriter, packedPage, type ChunkMetadata, type GroupMetadata, type SchemaElement } from './file-writer.js';
import { codec, convertedType, encoding, pageType, physicalType, repetition } from './format.js';
import { writeLevels, writeRun } from './rle.js';
import { zstd, type Compress } from './zstd.js';

/** Pages of fewer bytes aren't worth a call of the codec. */
const leastCompressed = 200;

/** A field of the schema: a value, or a group of fields. */
export interface RecordField {
  readonly name: string;
  readonly type: 'text' | 'integer' | 'bigint' | 'boolean' | readonly RecordField[];
  /** Left out: optional. */
  readonly repetition?: keyof typeof repetition;
  readonly converted?: 'map' | 'list';
}

/** A row or group, by field name. A `repeated` field is an array. */
export interface RecordValue {
  readonly [name: string]: string | number | boolean | RecordValue | readonly RecordValue[] | null | undefined;
}

/** A map from text to text (LogicalTypes.md, "Maps"). Its value is what `mapValue` returns. */
export function mapField(name: string): RecordField {
  const key: RecordField = { name: 'key', type: 'text', repetition: 'required' };
  const pairs: RecordField = {
    name: 'key_value',
    type: [key, { name: 'value', type: 'text' }],
    repetition: 'repeated',
  };
  return { name, type: [pairs], converted: 'map' };
}

export function mapValue(texts: Readonly<Record<string, string | null>>): RecordValue {
  return { key_value: Object.entries(texts).map(([key, value]) => ({ key, value })) };
}

/** A list of texts (LogicalTypes.md, "Lists"). Its value is what `listValue` returns. */
export function listField(name: string): RecordField {
  const elements: RecordField = { name: 'list', type: [{ name: 'element', type: 'text' }], repetition: 'repeated' };
  return { name, type: [elements], converted: 'list' };
}

export function listValue(texts: readonly string[]): RecordValue {
  return { list: texts.map((element) => ({ element })) };
}

/**
 * Encodes rows with nested fields as one Parquet file: plain encoding, zstd, no statistics but the number of nulls.
 * `rows` is read one row at a time; memory holds the encoded file and the current row group.
 *
 * @throws what `rows` throws; Error where a value isn't of its field's type, or a required one is missing
 */
export async function encodeRecords(
  fields: readonly RecordField[],
  rows: Iterable<RecordValue>,
  groupRows: number,
  createdBy: string,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; rows: number }> {
  const { compress } = await zstd();
  const columns = fields.map((field) => recordColumn(field, [], { definition: 0, repetition: 0 }));
  const leaves = columns.flatMap((column) => column.leaves);
  const file = new FileWriter();
  const groups: GroupMetadata[] = [];
  let count = 0;
  const endGroup = (): void => {
    groups.push({ rows: count, chunks: leaves.map((leaf) => leaf.write(file, compress)) });
    count = 0;
  };
  for (const row of rows) {
    for (const column of columns) column.add(row[column.name], 0, 0);
    if (++count === groupRows) endGroup();
  }
  if (count > 0) endGroup();
  const total = groups.reduce((sum, group) => sum + group.rows, 0);
  const bytes = file.end({ schema: fields.flatMap(schemaElements), fields: fields.length, groups, createdBy });
  return { bytes, rows: total };
}

/** Maximum definition and repetition level of a field (Dremel encoding). */
interface Levels {
  readonly definition: number;
  readonly repetition: number;
}

/** Receives the rows of a field. */
interface RecordColumn {
  readonly name: string;
  readonly leaves: readonly Leaf[];
  /** Adds a value, or its absence, at the levels of the parent field. */
  add(value: RecordValue[string], repetition: number, definition: number): void;
}

function recordColumn(field: RecordField, above: readonly string[], levels: Levels): RecordColumn {
  const { name, type } = field;
  const path = [...above, name];
  const isRepeated = field.repetition === 'repeated';
  const fieldLevels: Levels = {
    definition: levels.definition + (field.repetition === 'required' ? 0 : 1),
    repetition: levels.repetition + (isRepeated ? 1 : 0),
  };
  const leaf = typeof type === 'string' ? new Leaf(path, type, fieldLevels) : undefined;
  const columns = typeof type === 'string' ? [] : type.map((each) => recordColumn(each, path, fieldLevels));
  const leaves = leaf === undefined ? columns.flatMap((column) => column.leaves) : [leaf];
  const addOne = (value: RecordValue[string], repetition: number): void => {
    if (leaf !== undefined) leaf.add(value, repetition);
    else if (typeof value !== 'object') {
      throw new Error(`expected columns for ${path.join('.')}, got ${typeof value}`);
    } else {
      const record = value as RecordValue;
      for (const column of columns) column.add(record[column.name], repetition, fieldLevels.definition);
    }
  };
  return {
    name,
    leaves,
    add: (value, repetition, definition) => {
      const isPresent = isRepeated ? Array.isArray(value) && value.length > 0 : value !== undefined && value !== null;
      if (!isPresent) {
        if (field.repetition === 'required') throw new Error(`expected a value of ${path.join('.')}, got none`);
        for (const each of leaves) each.addNull(repetition, definition);
      } else if (Array.isArray(value)) {
        value.forEach((one: RecordValue, at) => {
          addOne(one, at === 0 ? repetition : fieldLevels.repetition);
        });
      } else {
        addOne(value, repetition);
      }
    },
  };
}

/** The levels of successive values, run-length encoded. */
class LevelRuns {
  readonly #most: number;
  #levels: number[] = [];
  #lengths: number[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  add(level: number): void {
    const last = this.#levels.length - 1;
    if (this.#levels[last] === level) this.#lengths[last] = (this.#lengths[last] ?? 0) + 1;
    else {
      this.#levels.push(level);
      this.#lengths.push(1);
    }
  }

  /** Writes the levels after their length, where there is more than one level, and clears them. */
  write(to: ByteBuffer): void {
    if (this.#most > 0) {
      const width = 32 - Math.clz32(this.#most);
      writeLevels(to, (into) => {
        this.#levels.forEach((level, run) => {
          writeRun(into, level, this.#lengths[run] ?? 0, width);
        });
      });
    }
    this.#levels = [];
    this.#lengths = [];
  }
}

const physicalTypes = {
  text: physicalType.byteArray,
  integer: physicalType.int32,
  bigint: physicalType.int64,
  boolean: physicalType.boolean,
} as const;

/** A leaf column: its values in the current row group. */
class Leaf {
  readonly #path: readonly string[];
  readonly #type: keyof typeof physicalTypes;
  readonly #mostDefined: number;
  readonly #repetitions: LevelRuns;
  readonly #definitions: LevelRuns;
  readonly #values = new ByteBuffer(1024);
  /** Booleans that don't fill a byte yet. */
  #bits: boolean[] = [];
  #count = 0;
  #nulls = 0;

  constructor(path: readonly string[], type: keyof typeof physicalTypes, levels: Levels) {
    this.#path = path;
    this.#type = type;
    this.#mostDefined = levels.definition;
    this.#repetitions = new LevelRuns(levels.repetition);
    this.#definitions = new LevelRuns(levels.definition);
  }

  add(value: RecordValue[string], repetition: number): void {
    this.#addLevels(repetition, this.#mostDefined);
    this.#writeValue(value);
  }

  addNull(repetition: number, definition: number): void {
    this.#addLevels(repetition, definition);
    this.#nulls++;
  }

  /** Writes the added values as a page, and clears them. */
  write(to: FileWriter, compress: Compress): ChunkMetadata {
    const content = new ByteBuffer(this.#values.length + 1024);
    this.#repetitions.write(content);
    this.#definitions.write(content);
    this.#endByte();
    content.bytes(this.#values.written);
    this.#values.clear();
    const isCompressed = content.length >= leastCompressed;
    const [header, bytes] = packedPage(content.written, isCompressed ? compress : (raw) => raw, {
      type: pageType.data,
      count: this.#count,
      encoding: encoding.plain,
    });
    const { offset, length } = to.append(header);
    to.append(bytes);
    const chunk: ChunkMetadata = {
      path: this.#path,
      type: physicalTypes[this.#type],
      encoding: encoding.plain,
      codec: isCompressed ? codec.zstd : codec.uncompressed,
      values: this.#count,
      nulls: this.#nulls,
      dataOffset: offset,
      size: length + bytes.length,
      uncompressedSize: length + content.length,
    };
    this.#count = 0;
    this.#nulls = 0;
    return chunk;
  }

  #addLevels(repetition: number, definition: number): void {
    this.#count++;
    this.#repetitions.add(repetition);
    this.#definitions.add(definition);
  }

  /** Writes a value in plain encoding (Encodings.md, "Plain"). */
  #writeValue(value: RecordValue[string]): void {
    const to = this.#values;
    if (this.#type === 'text' && typeof value === 'string') {
      const bytes = Buffer.from(value);
      to.uint32(bytes.length);
      to.bytes(bytes);
    } else if (this.#type === 'boolean' && typeof value === 'boolean') {
      if (this.#bits.push(value) === 8) this.#endByte();
    } else if (this.#type === 'integer' && (Number(value) | 0) === value) {
      to.uint32(value);
    } else if (this.#type === 'bigint' && Number.isSafeInteger(value)) {
      to.uint32(Number(value));
      to.uint32(Math.floor(Number(value) / 2 ** 32));
    } else {
      throw new Error(`expected a value of type ${this.#type} for ${this.#path.join('.')}, got ${typeof value}`);
    }
  }

  #endByte(): void {
    if (this.#bits.length > 0) this.#values.byte(this.#bits.reduce((byte, bit, at) => byte | (bit ? 1 << at : 0), 0));
    this.#bits = [];
  }
}

/** A field, and behind it its own fields. */
function schemaElements({ name, type, repetition: rule = 'optional', converted }: RecordField): SchemaElement[] {
  const element = { name, repetition: repetition[rule], converted: converted && convertedType[converted] };
  if (typeof type !== 'string') return [{ ...element, children: type.length }, ...type.flatMap(schemaElements)];
  return [{ ...element, type: physicalTypes[type], ...(type === 'text' && { converted: convertedType.utf8 }) }];
}
