import { DataFile } from '../delta/data-file.js';
import { hash as digest } from 'node:crypto';
import { messageOf } from '../../core/errors.js';
import type { Zstd } from '../../core/parquet/encoder/zstd.js';
import { catalogError, isObject, type Add } from '../delta/actions.js';
import { AccountState, type AccountBlock, type AccountContent } from './account-state.js';
import { checkFormat, supported } from './commit.js';
import type { TableState } from './grown-schema.js';
import type { LoadKey } from './load-key.js';
import { Snapshot, type LakeState } from './snapshot.js';

/** Bytes before the head: the lengths of the head, compressed and not, as unsigned 32-bit numbers, little-endian. */
const prefixLength = 8;

/** What a checkpoint has in front of its blocks. */
interface Head extends Omit<LakeState, 'tables'> {
  readonly format: number;
  readonly tables: Readonly<Record<string, TableState>>;
  /** Account, compressed bytes, bytes of the content, SHA-256 of the compressed ones: in the order of the blocks. */
  readonly blocks: readonly (readonly [string, number, number, string])[];
}

/** An account's block as JSON. */
interface BlockDocument {
  readonly files: Readonly<Record<string, readonly Add[]>>;
  readonly keys: readonly LoadKey[];
  readonly retired: readonly (readonly [string, number])[];
  readonly forgottenBefore?: number;
}

export interface EncodedCheckpoint {
  readonly bytes: Uint8Array;
  /** SHA-256 of its head, which has the hashes of the blocks. It is part of the name. */
  readonly sha256: string;
}

/**
 * Encodes a snapshot: a head, and a compressed block for each account. Blocks of accounts that didn't change since they
 * were read or written are copied. So no part is too large for one text, and a checkpoint costs what has changed.
 *
 * @throws LedgerlakeError LAKE_LOG where a block that has changed since can't be decoded
 */
export function encodeCheckpoint(snapshot: Snapshot, { compress, decompress }: Zstd): EncodedCheckpoint {
  const blocks: Uint8Array[] = [];
  const index: (readonly [string, number, number, string])[] = [];
  for (const [account, state] of snapshot.accountStates()) {
    let { block } = state;
    if (block === undefined) {
      const { content } = state;
      // Its last file may have been removed before anybody asked for it.
      if (state.isEmpty) continue;
      block = encodeBlock(account, content, { compress, decompress });
      state.written(block);
    }
    blocks.push(block.bytes);
    index.push([account, block.bytes.length, block.size, block.sha256]);
  }
  const { tables, ...rest } = snapshot.state;
  const head: Head = { format: supported.format, ...rest, tables: Object.fromEntries(tables), blocks: index };
  const text = Buffer.from(JSON.stringify(head));
  const compressed = compress(text);
  const prefix = Buffer.alloc(prefixLength);
  prefix.writeUInt32LE(compressed.length);
  prefix.writeUInt32LE(text.length, 4);
  return {
    bytes: Buffer.concat([prefix, compressed, ...blocks]),
    sha256: digest('sha256', Buffer.concat([prefix, compressed])),
  };
}

function encodeBlock(
  account: string,
  { files, keys, retired, forgottenBefore }: AccountContent,
  { compress, decompress }: Pick<Zstd, 'compress' | 'decompress'>,
): AccountBlock {
  const document: BlockDocument = {
    files: Object.fromEntries([...files].map(([table, some]) => [table, [...some.values()]])),
    keys: [...keys.values()].flatMap((some) => [...some.values()]),
    retired: [...retired],
    ...(forgottenBefore !== undefined && { forgottenBefore }),
  };
  const text = Buffer.from(JSON.stringify(document));
  // A copy: buffers of WebAssembly and of addons are theirs.
  const bytes = Uint8Array.from(compress(text));
  const sha256 = digest('sha256', bytes);
  return {
    bytes,
    sha256,
    size: text.length,
    decode: () => decodeBlock(bytes, text.length, account, decompress),
  };
}

/**
 * Decodes the head; blocks are decoded when their accounts are asked for. Their bytes are checked here, where another checkpoint can
 * take the place of a damaged one.
 *
 * @param sha256 the head's hash, from the file's name
 * @param file its path, for messages
 * @throws LedgerlakeError LAKE_LOG where the head or a block has changed, or the head is a newer program's
 */
export function decodeCheckpoint(bytes: Uint8Array, sha256: string, file: string, zstd: Zstd): Snapshot {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = buffer.length < prefixLength ? 0 : buffer.readUInt32LE(0);
  const headEnd = prefixLength + length;
  if (digest('sha256', buffer.subarray(0, headEnd)) !== sha256) {
    throw catalogError(`expected the checkpoint ${file} as it was written, its bytes have changed`);
  }
  const parsed: unknown = JSON.parse(
    text(zstd.decompress(buffer.subarray(prefixLength, headEnd), buffer.readUInt32LE(4))),
  );
  if (!isObject(parsed)) throw catalogError(`expected a checkpoint of the catalog in ${file}, found something else`);
  checkFormat(parsed, file);
  // Its hash is right: it is as a program with this format wrote it.
  const { tables, blocks, ...head } = parsed as unknown as Head;
  const accounts = new Map<string, AccountState>();
  let at = headEnd;
  for (const [account, blockLength, size, hash] of blocks) {
    // A copy would cost the memory of the whole checkpoint once more.
    const block = buffer.subarray(at, (at += blockLength));
    const where = `${account} in the checkpoint ${file}`;
    if (digest('sha256', block) !== hash) {
      throw catalogError(`expected the account ${where} as it was written, its bytes have changed`);
    }
    const decode = () => decodeBlock(block, size, where, zstd.decompress);
    accounts.set(account, AccountState.ofBlock({ bytes: block, sha256: hash, size, decode }));
  }
  return new Snapshot(stateOf(head, tables), accounts);
}

function stateOf(head: Omit<Head, 'tables' | 'blocks'>, tables: Head['tables']): LakeState {
  const { version, hash, at, minReaderVersion, minWriterVersion, config, fence } = head;
  return {
    version,
    hash,
    at,
    minReaderVersion,
    minWriterVersion,
    config,
    fence,
    tables: new Map(Object.entries(tables)),
  };
}

function decodeBlock(bytes: Uint8Array, size: number, where: string, decompress: Zstd['decompress']): AccountContent {
  let document: BlockDocument;
  try {
    document = JSON.parse(text(decompress(bytes, size))) as BlockDocument;
  } catch (error) {
    throw catalogError(`expected the account ${where}, it can't be decoded (${messageOf(error).slice(0, 100)})`);
  }
  const keys = new Map<string, Map<string, LoadKey>>();
  for (const key of document.keys) {
    const some = keys.get(key.pipeline);
    if (some === undefined) keys.set(key.pipeline, new Map([[key.key, key]]));
    else some.set(key.key, key);
  }
  const files = Object.entries(document.files).map(
    ([table, some]) => [table, new Map(some.map((add) => [add.path, new DataFile(add, table)]))] as const,
  );
  return { files: new Map(files), keys, retired: new Map(document.retired), forgottenBefore: document.forgottenBefore };
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
