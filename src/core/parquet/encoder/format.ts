/** Enumerations of the Parquet format (parquet-format 2.11, `parquet.thrift`) that this program writes. */

export const physicalType = { boolean: 0, int32: 1, int64: 2, byteArray: 6 } as const;

export const convertedType = {
  utf8: 0,
  map: 1,
  list: 3,
  decimal: 5,
  date: 6,
  timestampMicros: 10,
  int32: 17,
  int64: 18,
} as const;

export const repetition = { required: 0, optional: 1, repeated: 2 } as const;

export const encoding = {
  plain: 0,
  rle: 3,
  deltaLengthByteArray: 6,
  rleDictionary: 8,
} as const;

export const codec = { uncompressed: 0, snappy: 1, zstd: 6 } as const;

export const pageType = { data: 0, dictionary: 2 } as const;

/** Fields of the union `LogicalType`. */
export const logicalType = { string: 1, decimal: 5, date: 6, timestamp: 8 } as const;

export const boundaryOrder = { unordered: 0, ascending: 1 } as const;

/** The first and the last bytes of a file. */
export const magic = Buffer.from('PAR1');
